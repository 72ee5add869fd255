// edge.citing_revisions — the edges whose evidence cites some revisions
// access: read
// param keys: list<[tenant, doc]>
// returns tenant, edge_id
UNWIND $keys AS key
MATCH (:Revision {tenant: key[0], doc: key[1]})-[:HAS_CHUNK]->(:Chunk)<-[v:EVIDENCED_BY]-(a:Assertion)
WHERE v.dropped IS NULL
RETURN DISTINCT a.tenant AS tenant, a.edge_id AS edge_id
