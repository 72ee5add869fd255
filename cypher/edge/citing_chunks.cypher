// edge.citing_chunks — the edges whose evidence cites some chunks
// access: read
// param keys: list<[tenant, doc, chunk]>
// returns tenant, edge_id
UNWIND $keys AS key
MATCH (:Chunk {tenant: key[0], doc: key[1], chunk: key[2]})<-[v:EVIDENCED_BY]-(a:Assertion)
WHERE v.dropped IS NULL
RETURN DISTINCT a.tenant AS tenant, a.edge_id AS edge_id
