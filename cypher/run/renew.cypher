// run.renew — the writer says that it is alive
// access: write
// param id: string
// param run_id: string
// param seconds: float
// returns held
MATCH (s:Store {id: $id})
SET s.touched = datetime.realtime()
WITH s WHERE s.writer = $run_id
SET s.lease_until = datetime.realtime() + duration({milliseconds: toInteger($seconds * 1000)})
RETURN count(s) AS held
