// source.known_revisions — fingerprints of the records that were merged into some nodes
// access: read
// param keys: list<[tenant, doc]>
// returns place, records
UNWIND range(0, size($keys) - 1) AS place
WITH place, $keys[place] AS key
MATCH (n:Revision {tenant: key[0], doc: key[1]})
RETURN place, n.records AS records
