// edge.publish — create the typed relationships of published edges
// access: write
// param rows: list<[tenant, source_type, source_id, target_type, target_id, relationship type, props]>
UNWIND $rows AS row
MATCH (s:Entity {tenant: row[0], type: row[1], id: row[2]})
MATCH (t:Entity {tenant: row[0], type: row[3], id: row[4]})
CREATE (s)-[r:$(row[5])]->(t)
SET r = row[6]
