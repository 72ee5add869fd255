// retrieval.by_point — passages by the id of their point in a vector store, and everything that decides who may read them
// access: read
// param tenant: string
// param points: list<string>
// param allowed: list<string>
// param granted: list<string>
// returns point, passage
UNWIND $points AS point
MATCH (c:Chunk {tenant: $tenant, point_id: point})<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
RETURN point, {
  doc: v.doc, chunk: c.chunk, section_path: c.section_path, url: v.source_url, head: d.head,
  effective_at: v.effective_at, doc_id: d.doc_id, title: coalesce(d.title, d.doc_id),
  statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []),
  references: coalesce(c.acl, []) + coalesce(v.acl, []), tenants: [c.tenant, v.tenant, d.tenant],
  known: c.registered OR EXISTS {
    MATCH (c)<-[e:EVIDENCED_BY]-(a:Assertion)
    WHERE e.until IS NULL AND a.tenant = c.tenant AND a.state = 'published'
      AND size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
      AND all(reference IN a.acl WHERE reference IN $granted)
  }
} AS passage
