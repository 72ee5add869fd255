// read.runs — the latest runs, newest first
// access: read
// param before: integer
// param limit: integer
// returns run
MATCH (run:Run)
WHERE run.seq < $before
WITH run ORDER BY run.seq DESC LIMIT $limit
RETURN properties(run) AS run
