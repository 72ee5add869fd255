// entity.update — changed properties of entities
// access: write
// param rows: list<{key, changes}>
UNWIND $rows AS row
MATCH (n:Entity {tenant: row.key[0], type: row.key[1], id: row.key[2]})
SET n += row.changes
