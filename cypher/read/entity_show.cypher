// read.entity_show — one visible entity: names, aliases, visible edges by relation, and the first of them
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param type: string
// param id: string
// param limit: integer
// returns entity, aliases, counts, edges
MATCH (node:Entity {tenant: $tenant, type: $type, id: $id})
WHERE ((size(node.policies) > 0 AND all(policy IN node.policies WHERE policy IN $allowed))
  OR EXISTS { (node)-[r]-(:Entity) WHERE r.tenant = $tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
    AND all(reference IN r.acl WHERE reference IN $granted) })
CALL (node) {
  MATCH (alias:Alias)-[:NAMES]->(node)
  RETURN collect(alias {.alias, .method, .linker, .linker_version}) AS aliases
}
CALL (node) {
  MATCH (node)-[r]-(:Entity)
  WHERE r.tenant = $tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
    AND all(reference IN r.acl WHERE reference IN $granted)
  WITH type(r) AS type, startNode(r) = node AS outgoing, count(r) AS edges, min(r.edge_id) AS one
  OPTIONAL MATCH (a:Assertion {tenant: $tenant, edge_id: one})
  RETURN collect({type: type, relation: a.relation, outgoing: outgoing, edges: edges}) AS counts
}
CALL (node) {
  MATCH (node)-[r]-(other:Entity)
  WHERE r.tenant = $tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
    AND all(reference IN r.acl WHERE reference IN $granted)
  WITH node, r, other ORDER BY type(r), r.edge_id LIMIT $limit
  OPTIONAL MATCH (a:Assertion {tenant: $tenant, edge_id: r.edge_id})
  RETURN collect({
    edge: properties(r), type: type(r), relation: a.relation, outgoing: startNode(r) = node,
    other: other {.type, .id, .name}
  }) AS edges
}
RETURN properties(node) AS entity, aliases, counts, edges
