// read.references — for access sources: the live references of a page of published edges, and the last edge of the page
// access: read
// param tenant: string
// param after: string
// param limit: integer
// returns last, references
MATCH (a:Assertion)
WHERE a.tenant = $tenant AND a.edge_id > $after AND a.state = 'published' AND size(a.acl) > 0
WITH a ORDER BY a.tenant, a.edge_id LIMIT $limit
WITH collect(a.edge_id) AS ids, collect(a.acl) AS listed
WHERE size(ids) > 0
UNWIND listed AS keys
UNWIND keys AS reference
WITH ids, collect(DISTINCT reference) AS references
RETURN last(ids) AS last, references
