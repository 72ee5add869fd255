// quote.page — published edges that the reader may see, by edge id, with what their active evidence says of its quotes
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param after: string
// param limit: integer
// returns assertion, evidence
MATCH (a:Assertion)
WHERE a.tenant = $tenant AND a.edge_id > $after AND a.state = 'published'
  AND size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
  AND all(reference IN a.acl WHERE reference IN $granted)
WITH a ORDER BY a.tenant, a.edge_id LIMIT $limit
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
  WHERE e.until IS NULL
  RETURN collect({
    doc: v.doc, chunk: c.chunk, span: e.span, quote_hash: e.quote_hash, polarity: e.polarity, head: d.head,
    tenants: [c.tenant, v.tenant, d.tenant],
    statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
    references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl
  }) AS evidence
}
RETURN properties(a) AS assertion, evidence
