// quote.of_revision — published edges that the reader may see and that cite one revision, with that part of their evidence
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param doc: string
// returns assertion, evidence
MATCH (v:Revision {tenant: $tenant, doc: $doc})<-[:HAS_REVISION]-(d:Document)
MATCH (v)-[:HAS_CHUNK]->(c:Chunk)<-[e:EVIDENCED_BY]-(a:Assertion)
WHERE e.until IS NULL AND a.tenant = $tenant AND a.state = 'published'
  AND size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
  AND all(reference IN a.acl WHERE reference IN $granted)
WITH a, collect({
  doc: v.doc, chunk: c.chunk, span: e.span, quote_hash: e.quote_hash, polarity: e.polarity, head: d.head,
  tenants: [c.tenant, v.tenant, d.tenant],
  statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
  references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl
}) AS evidence
RETURN properties(a) AS assertion, evidence
ORDER BY a.edge_id
