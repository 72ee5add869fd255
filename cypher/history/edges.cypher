// history.edges — edges as they were published after a run, for who may see them now as they were and as they are
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param edges: list<{edge_id, key}>
// param seq: integer
// returns assertion, evidence
UNWIND $edges AS q
MATCH (a:Assertion {tenant: $tenant, edge_id: q.edge_id})
WHERE CASE a.state
  WHEN 'published' THEN size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
  AND all(reference IN a.acl WHERE reference IN $granted)
  WHEN 'withheld' THEN all(reason IN a.reasons WHERE reason = 'no-support')
  ELSE true END
CALL (q, a) {
  WITH a WHERE a.changed <= $seq
  RETURN a AS was
UNION
  MATCH (p:Past {kind: 'assertion', key: q.key})
  WHERE p.from_run <= $seq AND p.to_run > $seq
  RETURN p AS was
}
WITH a, was WHERE was.state = 'published'
  AND size(was.policies) > 0 AND all(policy IN was.policies WHERE policy IN $allowed)
  AND all(reference IN was.acl WHERE reference IN $granted)
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
  WHERE e.since <= $seq AND (e.until IS NULL OR e.until > $seq)
  OPTIONAL MATCH (run:Run {seq: e.since})
  RETURN collect({
    doc: v.doc, chunk: c.chunk, section_path: c.section_path, span: e.span, quote_hash: e.quote_hash,
    polarity: e.polarity, url: v.source_url, title: coalesce(d.title, d.doc_id), doc_id: d.doc_id, head: d.head,
    tenants: [c.tenant, v.tenant, d.tenant], pipeline: e.pipeline, version: e.version,
    statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
    references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl,
    run: run {.seq, .pipeline, .version, at: coalesce(run.finished_at, run.started_at)}
  }) AS evidence
}
RETURN properties(was) AS assertion, evidence
