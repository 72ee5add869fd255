// history.ended_after — what records were after a run, where they changed since
// access: read
// param seq: integer
// returns past
MATCH (n:Past)
WHERE n.to_run > $seq AND n.from_run <= $seq
RETURN properties(n) AS past
