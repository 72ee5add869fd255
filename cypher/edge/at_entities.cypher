// edge.at_entities — all edges that end at some entities of one type, published or not, but those that others took in
// access: read
// param tenant: string
// param type: string
// param ids: list<string>
// returns edge
MATCH (a:Assertion)
WHERE a.tenant = $tenant AND a.edge_id > ''
  AND (a.source_type = $type AND a.source_id IN $ids OR a.target_type = $type AND a.target_id IN $ids)
  AND a.merged_into IS NULL
RETURN a {.edge_id, .relation, .source_type, .source_id, .target_type, .target_id, .environment, .region, .valid_from, .valid_to,
  .derived_id} AS edge
