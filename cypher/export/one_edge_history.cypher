// export.one_edge_history — one edge with all of its evidence, ended evidence included
// access: read
// param tenant: string
// param edge_id: string
// returns node, evidence
MATCH (a:Assertion {tenant: $tenant, edge_id: $edge_id})
RETURN a {.*, records: null, digest: null} AS node, [(a)-[v:EVIDENCED_BY]->(c:Chunk) | v {.*, doc: c.doc, chunk: c.chunk}] AS evidence
