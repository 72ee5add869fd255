// read.entity_aliases — the aliases of some visible entities
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param entities: list<[type, id]>
// returns type, id, aliases
UNWIND $entities AS one
MATCH (node:Entity {tenant: $tenant, type: one[0], id: one[1]})
WHERE ((size(node.policies) > 0 AND all(policy IN node.policies WHERE policy IN $allowed))
  OR EXISTS { (node)-[r]-(:Entity) WHERE r.tenant = $tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
    AND all(reference IN r.acl WHERE reference IN $granted) })
RETURN node.type AS type, node.id AS id, [(alias:Alias)-[:NAMES]->(node) | alias.alias] AS aliases
