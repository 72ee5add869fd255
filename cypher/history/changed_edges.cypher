// history.changed_edges — edges of a tenant that changed after a run, by edge id
// access: read
// param tenant: string
// param seq: integer
// param after: string
// param limit: integer
// returns edge_id
MATCH (a:Assertion)
WHERE a.tenant = $tenant AND a.edge_id > $after AND a.changed > $seq
WITH a ORDER BY a.tenant, a.edge_id LIMIT $limit
RETURN a.edge_id AS edge_id
