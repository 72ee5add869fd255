// source.known_chunks — fingerprints of the records that were merged into some nodes
// access: read
// param keys: list<[tenant, doc, chunk]>
// returns place, records
UNWIND range(0, size($keys) - 1) AS place
WITH place, $keys[place] AS key
MATCH (n:Chunk {tenant: key[0], doc: key[1], chunk: key[2]})
RETURN place, n.records AS records
