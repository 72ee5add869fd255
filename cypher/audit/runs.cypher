// audit.runs — the runs from one number to another, in order, as stored
// access: read
// param first: integer
// param last: integer
// returns node
MATCH (r:Run)
WHERE r.seq >= $first AND r.seq <= $last
RETURN properties(r) AS node
ORDER BY r.seq
