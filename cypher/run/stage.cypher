// run.stage — keep what a staged run holds back, and note on the store that it is staged
// access: write
// param id: string
// param seq: integer
// param parts: list<{number, source, file, content}>
MATCH (s:Store {id: $id})
MATCH (r:Run {seq: $seq})
SET s.staged = $seq
WITH r
UNWIND $parts AS part
CREATE (r)-[:HOLDS]->(p:Staged)
SET p = part
