// run.staged — what the staged run holds back, and its record; no row when none is staged
// access: read
// param id: string
// returns run, parts
MATCH (s:Store {id: $id})
MATCH (r:Run {seq: s.staged})
OPTIONAL MATCH (r)-[:HOLDS]->(p:Staged)
WITH r, p ORDER BY p.number
RETURN properties(r) AS run, collect(p {.number, .source, .file, .content}) AS parts
