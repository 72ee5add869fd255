// path.directed — one shortest visible chain a question, every hop walked from source to target
// access: read
// param questions: list<map>
// returns number, generation, chains, runs, policies_hash, source_visible, target_visible
UNWIND $questions AS asked WITH asked {.*, at: datetime(asked.at)} AS q
OPTIONAL MATCH (store:Store {id: 'store'})
OPTIONAL MATCH (source:Entity {tenant: q.tenant, type: q.source_type, id: q.source_id})
OPTIONAL MATCH (target:Entity {tenant: q.tenant, type: q.target_type, id: q.target_id})
CALL (q, source, target) {
  WITH * WHERE source <> target
  MATCH p = shortestPath((source)-[hops*1..8 /* most hops */]->(target))
  WHERE all(r IN hops WHERE
    r.tenant = q.tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN q.allowed)
    AND all(reference IN r.acl WHERE reference IN q.granted)
    AND (q.types IS NULL OR type(r) IN q.types)
    AND (r.current OR NOT q.require_current) AND (NOT r.disputed OR q.allow_disputed)
    AND (q.environment IS NULL OR r.environment IS NULL OR r.environment = q.environment)
    AND (q.region IS NULL OR r.region IS NULL OR r.region = q.region)
    AND (q.at IS NULL OR ((r.valid_from IS NULL OR r.valid_from <= q.at) AND (r.valid_to IS NULL OR q.at < r.valid_to)))
    AND (q.not_environments IS NULL OR r.environment IS NULL OR NOT r.environment IN q.not_environments)
    AND (q.not_regions IS NULL OR r.region IS NULL OR NOT r.region IN q.not_regions))
  UNWIND range(0, size(hops) - 1) AS place
  WITH q, p, place, hops[place] AS r, nodes(p)[place] AS here, startNode(hops[place]) AS tail, endNode(hops[place]) AS tip
  OPTIONAL MATCH (a:Assertion {tenant: q.tenant, edge_id: r.edge_id}) WHERE a.state = 'published'
  CALL (a) {
    MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
    WHERE e.until IS NULL
    RETURN collect({
      doc: v.doc, chunk: c.chunk, section_path: c.section_path, span: e.span, quote_hash: e.quote_hash,
      polarity: e.polarity, url: v.source_url, title: coalesce(d.title, d.doc_id), doc_id: d.doc_id, head: d.head,
      tenants: [c.tenant, v.tenant, d.tenant], pipeline: e.pipeline, version: e.version,
      statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
      references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl, since: e.since
    }) AS evidence
  }
  WITH p, place, {
    edge: r {.edge_id, .tenant, .policies, .acl, .environment, .region, .valid_from, .valid_to, .confidence, .current, .disputed},
    type: type(r), relation: a.relation, declared: a.declared, attributes: a.attributes,
    forward: tail = here, source: tail {.tenant, .type, .id}, target: tip {.tenant, .type, .id},
    evidence: evidence
  } AS step ORDER BY place
  WITH p, collect(step) AS steps
  RETURN collect({entities: [n IN nodes(p) | n {.tenant, .type, .id, .name}], steps: steps}) AS chains
}
CALL (chains) {
  UNWIND chains AS chain
  UNWIND chain.steps AS step
  UNWIND step.evidence AS item
  WITH DISTINCT item.since AS since
  MATCH (run:Run {seq: since})
  RETURN collect(run {.seq, .pipeline, .version, at: toString(coalesce(run.finished_at, run.started_at))}) AS runs
}
RETURN q.number AS number, store.head_seq AS generation, chains, runs,
  store.policies_hash + coalesce(' ' + store.policies_next, '') AS policies_hash,
  chains <> [] OR CASE WHEN source IS NULL THEN false ELSE
    (size(source.policies) > 0 AND all(policy IN source.policies WHERE policy IN q.allowed))
    OR EXISTS { (source)-[r]-(:Entity) WHERE r.tenant = q.tenant
      AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN q.allowed)
      AND all(reference IN r.acl WHERE reference IN q.granted) }
  END AS source_visible,
  chains <> [] OR CASE WHEN target IS NULL THEN false ELSE
    (size(target.policies) > 0 AND all(policy IN target.policies WHERE policy IN q.allowed))
    OR EXISTS { (target)-[r]-(:Entity) WHERE r.tenant = q.tenant
      AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN q.allowed)
      AND all(reference IN r.acl WHERE reference IN q.granted) }
  END AS target_visible
ORDER BY number
