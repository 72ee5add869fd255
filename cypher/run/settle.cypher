// run.settle — a staged run is staged no longer: what it held back goes, and its record names the run that published or discarded it
// access: write
// param id: string
// param seq: integer
// param by: integer
// returns settled
MATCH (s:Store {id: $id})
WHERE s.staged = $seq
MATCH (r:Run {seq: $seq})
SET s.staged = null, r.settled = $by
WITH r
OPTIONAL MATCH (r)-[:HOLDS]->(p:Staged)
WITH r, collect(p) AS parts
FOREACH (p IN parts | DETACH DELETE p)
RETURN r.seq AS settled
