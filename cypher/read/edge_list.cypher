// read.edge_list — published edges that the reader may see, by edge id
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param after: string
// param limit: integer
// returns assertion
MATCH (a:Assertion)
WHERE a.tenant = $tenant AND a.edge_id > $after AND a.state = 'published'
  AND size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
  AND all(reference IN a.acl WHERE reference IN $granted)
  AND EXISTS {
    MATCH (source:Entity {tenant: $tenant, type: a.source_type, id: a.source_id})
    MATCH (target:Entity {tenant: $tenant, type: a.target_type, id: a.target_id})
    MATCH (source)-[r]->(target)
    WHERE r.edge_id = a.edge_id AND r.tenant = $tenant
      AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
      AND all(reference IN r.acl WHERE reference IN $granted)
  }
WITH a ORDER BY a.tenant, a.edge_id LIMIT $limit
RETURN properties(a) AS assertion
