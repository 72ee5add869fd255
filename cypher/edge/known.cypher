// edge.known — fingerprints of the records that were merged into some edges, and the runs that changed these last
// access: read
// param keys: list<[tenant, edge_id]>
// returns place, records, changed
UNWIND range(0, size($keys) - 1) AS place
WITH place, $keys[place] AS key
MATCH (n:Assertion {tenant: key[0], edge_id: key[1]})
RETURN place, n.records AS records, n.changed AS changed
