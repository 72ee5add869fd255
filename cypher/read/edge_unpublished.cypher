// read.edge_unpublished — for auditors: one edge that is not published, with its active evidence
// access: read
// param tenant: string
// param edge_id: string
// returns assertion, evidence
MATCH (a:Assertion {tenant: $tenant, edge_id: $edge_id})
WHERE a.state <> 'published'
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
  WHERE e.until IS NULL
  OPTIONAL MATCH (run:Run {seq: e.since})
  RETURN collect({
    doc: v.doc, chunk: c.chunk, section_path: c.section_path, span: e.span, quote_hash: e.quote_hash,
    polarity: e.polarity, url: v.source_url, title: coalesce(d.title, d.doc_id), doc_id: d.doc_id, head: d.head,
    tenants: [c.tenant, v.tenant, d.tenant], pipeline: e.pipeline, version: e.version,
    statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
    references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl, since: e.since, until: e.until,
    run: run {.seq, .pipeline, .version, at: coalesce(run.finished_at, run.started_at)}
  }) AS evidence
}
RETURN properties(a) AS assertion, evidence
