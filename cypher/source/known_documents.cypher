// source.known_documents — fingerprints of the records that were merged into some nodes
// access: read
// param keys: list<[tenant, doc_id]>
// returns place, records
UNWIND range(0, size($keys) - 1) AS place
WITH place, $keys[place] AS key
MATCH (n:Document {tenant: key[0], doc_id: key[1]})
RETURN place, n.records AS records
