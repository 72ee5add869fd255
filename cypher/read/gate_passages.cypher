// read.gate_passages — visible passages by key, with the ids of the visible edges that cite each
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param passages: list<map>
// returns number, doc, chunk, ordinal, head, tenants, statements, references, registered, edges
UNWIND $passages AS q
MATCH (c:Chunk {tenant: $tenant, doc: q.doc, chunk: q.chunk})<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
WITH q, c, v, d, coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []) AS statements,
  coalesce(c.acl, []) + coalesce(v.acl, []) AS references
WHERE all(policy IN statements WHERE policy IN $allowed) AND all(reference IN references WHERE reference IN $granted)
CALL (c) {
  MATCH (c)<-[e:EVIDENCED_BY]-(a:Assertion)
  WHERE e.until IS NULL AND a.tenant = $tenant AND a.state = 'published'
    AND size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
    AND all(reference IN a.acl WHERE reference IN $granted)
  RETURN collect(DISTINCT a.edge_id) AS edges
}
RETURN q.number AS number, c.doc AS doc, c.chunk AS chunk, c.ordinal AS ordinal, d.head AS head,
  [c.tenant, v.tenant, d.tenant] AS tenants, statements, references, c.registered AS registered, edges
ORDER BY number
