// entity.linked_edges — for auditors and operators: the first published edges at some entities, and how many there are at each
// access: read
// param tenant: string
// param entities: list<[type, id]>
// param limit: integer
// returns type, id, edges, edge_ids
UNWIND $entities AS key
MATCH (e:Entity {tenant: $tenant, type: key[0], id: key[1]})
CALL (e) {
  MATCH (e)-[r]-(:Entity)
  WHERE r.tenant = $tenant
  RETURN count(DISTINCT r) AS edges
}
CALL (e) {
  MATCH (e)-[r]-(:Entity)
  WHERE r.tenant = $tenant
  WITH DISTINCT r.edge_id AS edge_id ORDER BY edge_id LIMIT $limit
  RETURN collect(edge_id) AS edge_ids
}
RETURN e.type AS type, e.id AS id, edges, edge_ids
