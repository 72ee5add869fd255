// read.policy_statements — for auditors: what is said about the active evidence of one edge, and which record says it
// access: read
// param tenant: string
// param edge_id: string
// returns assertion, evidence
MATCH (a:Assertion {tenant: $tenant, edge_id: $edge_id})
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
  WHERE e.until IS NULL
  RETURN collect({
    doc: v.doc, doc_id: d.doc_id, chunk: c.chunk, span: e.span, polarity: e.polarity, confidence: e.confidence,
    registered: c.registered, head: d.head, own: e.policy, chunk_says: coalesce(c.policies, []),
    revision_says: coalesce(v.policies, []), document_says: coalesce(d.policies, []), reference: e.acl,
    chunk_refers: coalesce(c.acl, []), revision_refers: coalesce(v.acl, [])
  }) AS evidence
}
RETURN properties(a) AS assertion, evidence
