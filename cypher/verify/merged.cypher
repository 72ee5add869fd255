// verify.merged — what was merged and is more than a sign to what stands for it, or leads nowhere; derived ids that name two edges
// access: read
// returns what, tenant, record
MATCH (n:Entity)
WHERE n.merged_into > ''
  AND (n.declared <> false OR size(n.names) > 0 OR size(n.policies) > 0 OR n.attributes IS NOT NULL OR EXISTS { (n)--() }
    OR NOT EXISTS { (:Entity {tenant: n.tenant, type: n.type, id: n.merged_into}) })
RETURN 'entity' AS what, n.tenant AS tenant, n.type + ':' + n.id AS record
UNION ALL
MATCH (a:Assertion)
WHERE a.merged_into > ''
  AND (a.state <> 'retracted' OR EXISTS { (a)-[v:EVIDENCED_BY]->() WHERE v.dropped IS NULL }
    OR NOT EXISTS { (:Assertion {tenant: a.tenant, edge_id: a.merged_into}) })
RETURN 'edge' AS what, a.tenant AS tenant, a.edge_id AS record
UNION ALL
MATCH (a:Assertion)
WHERE a.derived_id > ''
  AND (EXISTS { (:Assertion {tenant: a.tenant, edge_id: a.derived_id}) }
    OR EXISTS { MATCH (b:Assertion {derived_id: a.derived_id}) WHERE b.tenant = a.tenant AND b.edge_id <> a.edge_id })
RETURN 'derived' AS what, a.tenant AS tenant, a.edge_id AS record
