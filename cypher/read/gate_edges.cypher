// read.gate_edges — visible published edges by id
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param edges: list<map>
// returns number, edge
UNWIND $edges AS q
MATCH (a:Assertion {tenant: $tenant, edge_id: q.edge_id})
WHERE a.state = 'published' AND size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
  AND all(reference IN a.acl WHERE reference IN $granted)
RETURN q.number AS number, a {.tenant, .edge_id, .relation, .source_type, .source_id, .target_type, .target_id, .environment,
  .region, .valid_from, .valid_to, .current, .disputed, .policies, .acl, .state} AS edge
ORDER BY number
