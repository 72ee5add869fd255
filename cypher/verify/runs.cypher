// verify.runs — every run in order, as stored
// access: read
// plan: scan — verification reads everything
// returns node
MATCH (r:Run)
RETURN properties(r) AS node
ORDER BY r.seq
