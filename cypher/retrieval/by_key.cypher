// retrieval.by_key — passages by revision and chunk, and everything that decides who may read them
// access: read
// param keys: list<[tenant, doc, chunk]>
// param allowed: list<string>
// param granted: list<string>
// returns key, passage
UNWIND $keys AS key
MATCH (c:Chunk {tenant: key[0], doc: key[1], chunk: key[2]})<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
RETURN key, {
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
