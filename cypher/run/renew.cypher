// run.renew — the writer says that it is alive
// access: write
// param id: string
// param run_id: string
// param seconds: float
// returns held
MATCH (s:Store {id: $id})
WHERE s.writer = $run_id
SET s.lease_until = datetime() + duration({milliseconds: toInteger($seconds * 1000)})
RETURN count(s) AS held
