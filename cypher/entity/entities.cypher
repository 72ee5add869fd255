// entity.entities — entities by key, as stored
// access: read
// param keys: list<[tenant, type, id]>
// returns key, node
UNWIND $keys AS key
MATCH (n:Entity {tenant: key[0], type: key[1], id: key[2]})
RETURN key, properties(n) AS node
