// verify.edges — every assertion with all its evidence and what the sources say about it
// access: read
// plan: scan — verification reads everything
// returns node, withheld, evidence
MATCH (a:Assertion)
RETURN properties(a) AS node, a:Withheld AS withheld,
  [(a)-[v:EVIDENCED_BY]->(c) | [properties(v), c:Chunk, c.tenant, c.doc, c.chunk, c.policies, c.acl, c.registered,
    [(c)<-[:HAS_CHUNK]-(r:Revision)<-[:HAS_REVISION]-(d:Document) |
      [r.tenant, r.doc, r.policies, r.acl, d.tenant, d.doc_id, d.policies, d.head]]]] AS evidence
