// verify.edges — every assertion with all its evidence, ended evidence included
// access: read
// plan: scan — verification reads everything
// returns node, withheld, evidence
MATCH (a:Assertion)
RETURN properties(a) AS node, a:Withheld AS withheld,
  [(a)-[v:EVIDENCED_BY]->(c) | [c.tenant, c.doc, c.chunk, c:Chunk, properties(v)]] AS evidence
