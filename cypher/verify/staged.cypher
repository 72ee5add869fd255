// verify.staged — runs that are or were staged, what they hold back, and what settled them
// access: read
// plan: scan — verification reads everything; runs are few
// returns run, parts, by
MATCH (r:Run)
WHERE r.status = 'staged' OR r.settled IS NOT NULL OR EXISTS { (r)-[:HOLDS]->() }
OPTIONAL MATCH (r)-[:HOLDS]->(p:Staged)
WITH r, p ORDER BY p.number
WITH r, collect(p {.number, .source, .file, .content}) AS parts
OPTIONAL MATCH (by:Run {seq: r.settled})
RETURN properties(r) AS run, parts, properties(by) AS by
ORDER BY run.seq
