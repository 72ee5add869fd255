// read.edge_merged — of some edges, those that another one took in when entities were merged
// access: read
// param tenant: string
// param edge_ids: list<string>
// returns assertion
UNWIND $edge_ids AS edge_id
MATCH (a:Assertion {tenant: $tenant, edge_id: edge_id})
WHERE a.merged_into > ''
RETURN properties(a) AS assertion
