// run.by_seq — one run, as stored
// access: read
// param seq: integer
// returns run
MATCH (r:Run {seq: $seq})
RETURN properties(r) AS run
