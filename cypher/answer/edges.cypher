// answer.edges — published edges by id that the reader may see, with every citation they have or had
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param edge_ids: list<string>
// returns assertion, evidence
UNWIND $edge_ids AS edge_id
MATCH (a:Assertion {tenant: $tenant, edge_id: edge_id})
WHERE a.state = 'published'
MATCH (source:Entity {tenant: $tenant, type: a.source_type, id: a.source_id})
MATCH (target:Entity {tenant: $tenant, type: a.target_type, id: a.target_id})
MATCH (source)-[r]->(target)
WHERE r.edge_id = a.edge_id AND r.tenant = $tenant
  AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
  AND all(reference IN r.acl WHERE reference IN $granted)
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
  WHERE e.since IS NOT NULL
  OPTIONAL MATCH (run:Run {seq: e.since})
  OPTIONAL MATCH (ended:Run {seq: e.until})
  RETURN collect({
    doc: v.doc, chunk: c.chunk, section_path: c.section_path, span: e.span, quote_hash: e.quote_hash,
    polarity: e.polarity, url: v.source_url, title: coalesce(d.title, d.doc_id), doc_id: d.doc_id, head: d.head,
    tenants: [c.tenant, v.tenant, d.tenant], pipeline: e.pipeline, version: e.version,
    statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
    references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl, since: e.since, until: e.until,
    run: run {.seq, .pipeline, .version, at: coalesce(run.finished_at, run.started_at)},
    ended: ended {.seq, .pipeline, .version, at: coalesce(ended.finished_at, ended.started_at)}
  }) AS evidence
}
RETURN properties(a) AS assertion, evidence
