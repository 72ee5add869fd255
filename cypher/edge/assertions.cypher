// edge.assertions — edges by key, with their evidence, active and dormant
// access: read
// param keys: list<[tenant, edge_id]>
// returns node, evidence
UNWIND $keys AS key
MATCH (a:Assertion {tenant: key[0], edge_id: key[1]})
OPTIONAL MATCH (a)-[v:EVIDENCED_BY]->(c:Chunk) WHERE v.dropped IS NULL
RETURN properties(a) AS node,
  collect(CASE WHEN v IS NULL THEN null ELSE v {.*, id: elementId(v), doc: c.doc, chunk: c.chunk} END) AS evidence
