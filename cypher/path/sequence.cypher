// path.sequence — one visible chain a question with exactly the given relations, every hop walked from source to target
// access: read
// param questions: list<map>
// returns number, generation, chains, runs, policies_hash, source_visible, target_visible
UNWIND $questions AS asked WITH asked {.*, at: datetime(asked.at)} AS q
OPTIONAL MATCH (store:Store {id: 'store'})
OPTIONAL MATCH (source:Entity {tenant: q.tenant, type: q.source_type, id: q.source_id})
OPTIONAL MATCH (target:Entity {tenant: q.tenant, type: q.target_type, id: q.target_id})
CALL (q, source, target) {
  WITH * WHERE source <> target
  MATCH p = ANY SHORTEST (source)
    -[r1 WHERE r1.tenant = q.tenant AND size(r1.policies) > 0 AND all(policy IN r1.policies WHERE policy IN q.allowed) AND all(reference IN r1.acl WHERE reference IN q.granted) AND type(r1) = q.sequence[0] AND (r1.current OR NOT q.require_current) AND (NOT r1.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r1.environment IS NULL OR r1.environment = q.environment) AND (q.region IS NULL OR r1.region IS NULL OR r1.region = q.region) AND (q.at IS NULL OR ((r1.valid_from IS NULL OR r1.valid_from <= q.at) AND (r1.valid_to IS NULL OR q.at < r1.valid_to))) AND (q.not_environments IS NULL OR r1.environment IS NULL OR NOT r1.environment IN q.not_environments) AND (q.not_regions IS NULL OR r1.region IS NULL OR NOT r1.region IN q.not_regions)]-> /* hop 1 */
    ()-[r2 WHERE r2.tenant = q.tenant AND size(r2.policies) > 0 AND all(policy IN r2.policies WHERE policy IN q.allowed) AND all(reference IN r2.acl WHERE reference IN q.granted) AND type(r2) = q.sequence[1] AND (r2.current OR NOT q.require_current) AND (NOT r2.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r2.environment IS NULL OR r2.environment = q.environment) AND (q.region IS NULL OR r2.region IS NULL OR r2.region = q.region) AND (q.at IS NULL OR ((r2.valid_from IS NULL OR r2.valid_from <= q.at) AND (r2.valid_to IS NULL OR q.at < r2.valid_to))) AND (q.not_environments IS NULL OR r2.environment IS NULL OR NOT r2.environment IN q.not_environments) AND (q.not_regions IS NULL OR r2.region IS NULL OR NOT r2.region IN q.not_regions)]-> /* hop 2 */
    ()-[r3 WHERE r3.tenant = q.tenant AND size(r3.policies) > 0 AND all(policy IN r3.policies WHERE policy IN q.allowed) AND all(reference IN r3.acl WHERE reference IN q.granted) AND type(r3) = q.sequence[2] AND (r3.current OR NOT q.require_current) AND (NOT r3.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r3.environment IS NULL OR r3.environment = q.environment) AND (q.region IS NULL OR r3.region IS NULL OR r3.region = q.region) AND (q.at IS NULL OR ((r3.valid_from IS NULL OR r3.valid_from <= q.at) AND (r3.valid_to IS NULL OR q.at < r3.valid_to))) AND (q.not_environments IS NULL OR r3.environment IS NULL OR NOT r3.environment IN q.not_environments) AND (q.not_regions IS NULL OR r3.region IS NULL OR NOT r3.region IN q.not_regions)]-> /* hop 3 */
    ()-[r4 WHERE r4.tenant = q.tenant AND size(r4.policies) > 0 AND all(policy IN r4.policies WHERE policy IN q.allowed) AND all(reference IN r4.acl WHERE reference IN q.granted) AND type(r4) = q.sequence[3] AND (r4.current OR NOT q.require_current) AND (NOT r4.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r4.environment IS NULL OR r4.environment = q.environment) AND (q.region IS NULL OR r4.region IS NULL OR r4.region = q.region) AND (q.at IS NULL OR ((r4.valid_from IS NULL OR r4.valid_from <= q.at) AND (r4.valid_to IS NULL OR q.at < r4.valid_to))) AND (q.not_environments IS NULL OR r4.environment IS NULL OR NOT r4.environment IN q.not_environments) AND (q.not_regions IS NULL OR r4.region IS NULL OR NOT r4.region IN q.not_regions)]-> /* hop 4 */
    ()-[r5 WHERE r5.tenant = q.tenant AND size(r5.policies) > 0 AND all(policy IN r5.policies WHERE policy IN q.allowed) AND all(reference IN r5.acl WHERE reference IN q.granted) AND type(r5) = q.sequence[4] AND (r5.current OR NOT q.require_current) AND (NOT r5.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r5.environment IS NULL OR r5.environment = q.environment) AND (q.region IS NULL OR r5.region IS NULL OR r5.region = q.region) AND (q.at IS NULL OR ((r5.valid_from IS NULL OR r5.valid_from <= q.at) AND (r5.valid_to IS NULL OR q.at < r5.valid_to))) AND (q.not_environments IS NULL OR r5.environment IS NULL OR NOT r5.environment IN q.not_environments) AND (q.not_regions IS NULL OR r5.region IS NULL OR NOT r5.region IN q.not_regions)]-> /* hop 5 */
    ()-[r6 WHERE r6.tenant = q.tenant AND size(r6.policies) > 0 AND all(policy IN r6.policies WHERE policy IN q.allowed) AND all(reference IN r6.acl WHERE reference IN q.granted) AND type(r6) = q.sequence[5] AND (r6.current OR NOT q.require_current) AND (NOT r6.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r6.environment IS NULL OR r6.environment = q.environment) AND (q.region IS NULL OR r6.region IS NULL OR r6.region = q.region) AND (q.at IS NULL OR ((r6.valid_from IS NULL OR r6.valid_from <= q.at) AND (r6.valid_to IS NULL OR q.at < r6.valid_to))) AND (q.not_environments IS NULL OR r6.environment IS NULL OR NOT r6.environment IN q.not_environments) AND (q.not_regions IS NULL OR r6.region IS NULL OR NOT r6.region IN q.not_regions)]-> /* hop 6 */
    ()-[r7 WHERE r7.tenant = q.tenant AND size(r7.policies) > 0 AND all(policy IN r7.policies WHERE policy IN q.allowed) AND all(reference IN r7.acl WHERE reference IN q.granted) AND type(r7) = q.sequence[6] AND (r7.current OR NOT q.require_current) AND (NOT r7.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r7.environment IS NULL OR r7.environment = q.environment) AND (q.region IS NULL OR r7.region IS NULL OR r7.region = q.region) AND (q.at IS NULL OR ((r7.valid_from IS NULL OR r7.valid_from <= q.at) AND (r7.valid_to IS NULL OR q.at < r7.valid_to))) AND (q.not_environments IS NULL OR r7.environment IS NULL OR NOT r7.environment IN q.not_environments) AND (q.not_regions IS NULL OR r7.region IS NULL OR NOT r7.region IN q.not_regions)]-> /* hop 7 */
    ()-[r8 WHERE r8.tenant = q.tenant AND size(r8.policies) > 0 AND all(policy IN r8.policies WHERE policy IN q.allowed) AND all(reference IN r8.acl WHERE reference IN q.granted) AND type(r8) = q.sequence[7] AND (r8.current OR NOT q.require_current) AND (NOT r8.disputed OR q.allow_disputed) AND (q.environment IS NULL OR r8.environment IS NULL OR r8.environment = q.environment) AND (q.region IS NULL OR r8.region IS NULL OR r8.region = q.region) AND (q.at IS NULL OR ((r8.valid_from IS NULL OR r8.valid_from <= q.at) AND (r8.valid_to IS NULL OR q.at < r8.valid_to))) AND (q.not_environments IS NULL OR r8.environment IS NULL OR NOT r8.environment IN q.not_environments) AND (q.not_regions IS NULL OR r8.region IS NULL OR NOT r8.region IN q.not_regions)]-> /* hop 8 */
    (target)
  WITH q, p, relationships(p) AS hops
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
