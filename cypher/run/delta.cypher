// run.delta — what one transaction adds to the graph hash, if the run still holds the store; locks the store until the commit
// access: write
// param id: string
// param run_id: string
// param seq: integer
// param sum: bytes
// returns held
MATCH (s:Store {id: $id})
SET s.touched = datetime.realtime()
WITH s WHERE s.writer = $run_id
CREATE (d:Delta {seq: $seq, sum: $sum})
RETURN count(d) AS held
