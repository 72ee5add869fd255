// read.edge_history_unpublished — for auditors: every citation that an unpublished edge has or had
// access: read
// param tenant: string
// param edge_id: string
// returns assertion, evidence
MATCH (a:Assertion {tenant: $tenant, edge_id: $edge_id})
WHERE a.state <> 'published'
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
    run: run {.seq, .kind, .pipeline, .version, .actor, .run_id, .trace_id, at: coalesce(run.finished_at, run.started_at)},
    ended: ended {.seq, .kind, .pipeline, .version, .actor, .run_id, .trace_id, at: coalesce(ended.finished_at, ended.started_at)}
  }) AS evidence
}
RETURN properties(a) AS assertion, evidence
