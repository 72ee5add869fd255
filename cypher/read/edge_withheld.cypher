// read.edge_withheld — for auditors and operators: withheld edges of a tenant, by edge id
// access: read
// param tenant: string
// param after: string
// param limit: integer
// returns assertion
MATCH (a:Withheld)
WHERE a.tenant = $tenant AND a.edge_id > $after
WITH a ORDER BY a.tenant, a.edge_id LIMIT $limit
RETURN properties(a) AS assertion
