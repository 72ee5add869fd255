// entity.known — fingerprints of the records that were merged into some nodes
// access: read
// param keys: list<[tenant, type, id]>
// returns place, records
UNWIND range(0, size($keys) - 1) AS place
WITH place, $keys[place] AS key
MATCH (n:Entity {tenant: key[0], type: key[1], id: key[2]})
RETURN place, n.records AS records
