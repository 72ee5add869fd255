// edge.merged — every edge id that another edge answers to: the edges it took in, and the derived id that is not its own
// access: read
// returns tenant, edge_id, into
MATCH (a:Assertion)
WHERE a.merged_into > ''
RETURN a.tenant AS tenant, a.edge_id AS edge_id, a.merged_into AS into
UNION ALL
MATCH (a:Assertion)
WHERE a.derived_id > ''
RETURN a.tenant AS tenant, a.derived_id AS edge_id, a.edge_id AS into
