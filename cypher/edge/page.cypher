// edge.page — keys of the edges of a tenant, in order, those behind one of them
// access: read
// param tenant: string
// param after: string
// param limit: integer
// returns edge_id
MATCH (a:Assertion)
WHERE a.tenant = $tenant AND a.edge_id > $after
WITH a ORDER BY a.tenant, a.edge_id LIMIT $limit
RETURN a.edge_id AS edge_id
