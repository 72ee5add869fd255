// verify.versions — every past version, those of one record in a row
// access: read
// plan: scan — verification reads everything
// returns node
MATCH (n:Past)
WHERE n.kind IS NOT NULL
WITH n ORDER BY n.kind, n.key, n.from_run
RETURN properties(n) AS node
