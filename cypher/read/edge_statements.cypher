// read.edge_statements — what is said about every citation that some edges have or had
// access: read
// param tenant: string
// param edge_ids: list<string>
// returns edge_id, evidence
UNWIND $edge_ids AS edge_id
MATCH (a:Assertion {tenant: $tenant, edge_id: edge_id})
RETURN edge_id, [(a)-[e:EVIDENCED_BY]->(c:Chunk)<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document) | {
  tenants: [c.tenant, v.tenant, d.tenant], policy: e.policy, reference: e.acl,
  statements: coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []),
  references: coalesce(c.acl, []) + coalesce(v.acl, [])
}] AS evidence
