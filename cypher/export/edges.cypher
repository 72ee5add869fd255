// export.edges — every edge with its evidence: what counts, and what would count again
// access: read
// plan: scan — an export reads everything
// param tenant: string
// param everything: boolean
// returns node, evidence
MATCH (a:Assertion)
WHERE $everything OR a.tenant = $tenant
RETURN a {.*, records: null, digest: null} AS node, [(a)-[v:EVIDENCED_BY]->(c:Chunk) WHERE v.until IS NULL OR v.dropped IS NULL |
  v {.*, doc: c.doc, chunk: c.chunk}] AS evidence
