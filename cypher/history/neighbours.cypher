// history.neighbours — the edges that an entity had after a run, for who may see them now as they were and as they are
// access: read
// param questions: list<map>
// returns number, policies_hash, generation, edge, relation, declared, source, target, evidence
UNWIND $questions AS q
OPTIONAL MATCH (store:Store {id: 'store'})
OPTIONAL CALL (q) {
  MATCH (:Entity {tenant: q.tenant, type: q.type, id: q.id})-[r]-(:Entity)
  WHERE r.tenant = q.tenant AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN q.allowed)
    AND all(reference IN r.acl WHERE reference IN q.granted)
  MATCH (a:Assertion {tenant: q.tenant, edge_id: r.edge_id})
  WHERE a.changed <= q.seq AND a.state = 'published'
  RETURN a, a AS was ORDER BY a.edge_id LIMIT 5001 /* one more than are walked */
UNION
  MATCH (p:Past {tenant: q.tenant, source_type: q.type, source_id: q.id})
  USING INDEX SEEK p:Past(tenant, source_type, source_id)
  WHERE p.from_run <= q.seq AND p.to_run > q.seq AND p.state = 'published'
    AND size(p.policies) > 0 AND all(policy IN p.policies WHERE policy IN q.allowed)
    AND all(reference IN p.acl WHERE reference IN q.granted)
  MATCH (a:Assertion {tenant: q.tenant, edge_id: p.edge_id})
  WHERE CASE a.state
    WHEN 'published' THEN size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN q.allowed)
    AND all(reference IN a.acl WHERE reference IN q.granted)
    WHEN 'withheld' THEN all(reason IN a.reasons WHERE reason = 'no-support')
    ELSE true END
  RETURN a, p AS was ORDER BY p.edge_id LIMIT 5001 /* one more than are walked */
UNION
  MATCH (p:Past {tenant: q.tenant, target_type: q.type, target_id: q.id})
  USING INDEX SEEK p:Past(tenant, target_type, target_id)
  WHERE p.from_run <= q.seq AND p.to_run > q.seq AND p.state = 'published'
    AND size(p.policies) > 0 AND all(policy IN p.policies WHERE policy IN q.allowed)
    AND all(reference IN p.acl WHERE reference IN q.granted)
  MATCH (a:Assertion {tenant: q.tenant, edge_id: p.edge_id})
  WHERE CASE a.state
    WHEN 'published' THEN size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN q.allowed)
    AND all(reference IN a.acl WHERE reference IN q.granted)
    WHEN 'withheld' THEN all(reason IN a.reasons WHERE reason = 'no-support')
    ELSE true END
  RETURN a, p AS was ORDER BY p.edge_id LIMIT 5001 /* one more than are walked */
}
CALL (q, a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
  WHERE e.since <= q.seq AND (e.until IS NULL OR e.until > q.seq)
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
RETURN q.number AS number, store.policies_hash + coalesce(' ' + store.policies_next, '') AS policies_hash,
  store.head_seq AS generation,
  was {.tenant, .edge_id, .policies, .acl, .environment, .region, .valid_from, .valid_to, .confidence, .current, .disputed} AS edge,
  was.relation AS relation, was.declared AS declared,
  {tenant: was.tenant, type: was.source_type, id: was.source_id} AS source,
  {tenant: was.tenant, type: was.target_type, id: was.target_id} AS target, evidence
ORDER BY number, edge.edge_id
