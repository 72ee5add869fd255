// verify.ends — edges without relationship one of whose ends does not exist
// access: read
// plan: scan — verification reads everything; only what is wrong is returned
// returns tenant, edge_id
MATCH (a:Assertion)
WHERE a.state <> 'published'
  AND NOT (EXISTS { (:Entity {tenant: a.tenant, type: a.source_type, id: a.source_id}) }
    AND EXISTS { (:Entity {tenant: a.tenant, type: a.target_type, id: a.target_id}) })
RETURN a.tenant AS tenant, a.edge_id AS edge_id
