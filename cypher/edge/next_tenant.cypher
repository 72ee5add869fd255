// edge.next_tenant — the next tenant that has an edge
// access: read
// param after: string
// returns tenant
MATCH (a:Assertion)
WHERE a.tenant > $after AND a.edge_id > ''
WITH a ORDER BY a.tenant, a.edge_id LIMIT 1
RETURN a.tenant AS tenant
