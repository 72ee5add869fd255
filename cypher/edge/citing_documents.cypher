// edge.citing_documents — the edges whose evidence cites some documents
// access: read
// param keys: list<[tenant, doc_id]>
// returns tenant, edge_id
UNWIND $keys AS key
MATCH (:Document {tenant: key[0], doc_id: key[1]})-[:HAS_REVISION]->(:Revision)-[:HAS_CHUNK]->(:Chunk)<-[v:EVIDENCED_BY]-(a:Assertion)
WHERE v.dropped IS NULL
RETURN DISTINCT a.tenant AS tenant, a.edge_id AS edge_id
