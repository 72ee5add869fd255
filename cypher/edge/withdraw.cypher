// edge.withdraw — delete the typed relationships of edges that are published no longer, or will be published anew
// access: write
// param rows: list<[tenant, source_type, source_id, target_type, target_id, edge_id]>
UNWIND $rows AS row
MATCH (s:Entity {tenant: row[0], type: row[1], id: row[2]})
MATCH (t:Entity {tenant: row[0], type: row[3], id: row[4]})
MATCH (s)-[r]->(t)
WHERE r.edge_id = row[5]
DELETE r
