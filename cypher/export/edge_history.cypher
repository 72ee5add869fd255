// export.edge_history — every edge with all of its evidence, ended evidence included
// access: read
// plan: scan — an export reads everything
// param tenant: string
// param everything: boolean
// returns node, evidence
MATCH (a:Assertion)
WHERE $everything OR a.tenant = $tenant
RETURN a {.*, records: null, digest: null} AS node, [(a)-[v:EVIDENCED_BY]->(c:Chunk) | v {.*, doc: c.doc, chunk: c.chunk}] AS evidence
