// read.around — visible edges at entities, most certain first, that hold under conditions, with their evidence; and how many are not read
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param entities: list<map>
// param behind: list<[type, id]>
// param told: list<string>
// param environment: string
// param region: string
// param at: datetime
// param require_current: boolean
// param limit: integer
// returns unread, edge, type, relation, declared, source, target, evidence
UNWIND $entities AS q
MATCH (node:Entity {tenant: $tenant, type: q.type, id: q.id})
MATCH (node)-[r]-(other:Entity)
WHERE r.tenant = $tenant AND NOT [other.type, other.id] IN $behind
  AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
  AND all(reference IN r.acl WHERE reference IN $granted)
  AND (r.current OR NOT $require_current) AND NOT r.disputed
  AND ($environment IS NULL OR r.environment IS NULL OR r.environment = $environment)
  AND ($region IS NULL OR r.region IS NULL OR r.region = $region)
  AND ($at IS NULL OR ((r.valid_from IS NULL OR r.valid_from <= $at) AND (r.valid_to IS NULL OR $at < r.valid_to)))
WITH DISTINCT r ORDER BY coalesce(r.confidence, -1.0) DESC, r.edge_id
WITH collect(r) AS found
WITH size([r IN found[$limit..] WHERE NOT r.edge_id IN $told]) AS unread, found[..$limit] AS some
UNWIND some AS r
WITH unread, r, startNode(r) AS tail, endNode(r) AS tip
OPTIONAL MATCH (a:Assertion {tenant: $tenant, edge_id: r.edge_id}) WHERE a.state = 'published'
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
  WHERE e.until IS NULL
  OPTIONAL MATCH (run:Run {seq: e.since})
  RETURN collect({
    doc: v.doc, chunk: c.chunk, section_path: c.section_path, span: e.span, quote_hash: e.quote_hash,
    polarity: e.polarity, url: v.source_url, title: coalesce(d.title, d.doc_id), doc_id: d.doc_id, head: d.head,
    tenants: [c.tenant, v.tenant, d.tenant], pipeline: e.pipeline, version: e.version,
    statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
    references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl, since: e.since,
    run: run {.seq, .pipeline, .version, at: coalesce(run.finished_at, run.started_at)}
  }) AS evidence
}
RETURN unread,
  r {.edge_id, .tenant, .policies, .acl, .environment, .region, .valid_from, .valid_to, .confidence, .current, .disputed} AS edge,
  type(r) AS type, a.relation AS relation, a.declared AS declared,
  tail {.tenant, .type, .id, .name} AS source, tip {.tenant, .type, .id, .name} AS target, evidence
ORDER BY coalesce(edge.confidence, -1.0) DESC, edge.edge_id
