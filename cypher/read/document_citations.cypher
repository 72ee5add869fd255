// read.document_citations — every edge that cites or cited some revisions, what it cites there, and whether it can be walked
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param docs: list<string>
// returns assertion, visible, evidence
UNWIND $docs AS doc
MATCH (v:Revision {tenant: $tenant, doc: doc})-[:HAS_CHUNK]->(c:Chunk)<-[e:EVIDENCED_BY]-(a:Assertion)
WHERE a.tenant = $tenant AND e.since IS NOT NULL
MATCH (v)<-[:HAS_REVISION]-(d:Document)
WITH a, collect({
  doc: v.doc, chunk: c.chunk, section_path: c.section_path, span: e.span, quote_hash: e.quote_hash,
  polarity: e.polarity, url: v.source_url, title: coalesce(d.title, d.doc_id), doc_id: d.doc_id, head: d.head,
  tenants: [c.tenant, v.tenant, d.tenant], pipeline: e.pipeline, version: e.version,
  statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []), policy: e.policy,
  references: coalesce(c.acl, []) + coalesce(v.acl, []), reference: e.acl, since: e.since, until: e.until
}) AS evidence
OPTIONAL MATCH (source:Entity {tenant: $tenant, type: a.source_type, id: a.source_id})
OPTIONAL MATCH (target:Entity {tenant: $tenant, type: a.target_type, id: a.target_id})
WITH a, evidence, source, target
RETURN a {.tenant, .edge_id, .relation, .source_type, .source_id, .target_type, .target_id, .environment, .region, .valid_from,
    .valid_to, .declared, .attributes, .state, .reasons, .policies, .acl, .confidence, .current, .disputed} AS assertion,
  a.state = 'published' AND EXISTS {
    MATCH (source)-[r]->(target)
    WHERE r.edge_id = a.edge_id AND r.tenant = $tenant
      AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
      AND all(reference IN r.acl WHERE reference IN $granted)
  } AS visible, evidence
ORDER BY a.edge_id
