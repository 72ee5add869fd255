// read.entities_by_key — visible entities by id, where a type is given, or by an alias
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param names: list<map>
// returns number, type, id, name, by_id, guessed
UNWIND $names AS q
CALL (q) {
  MATCH (node:Entity {tenant: $tenant, type: q.type, id: q.lookup})
  RETURN node, true AS by_id, false AS guessed
  UNION
  MATCH (alias:Alias {tenant: $tenant, lookup: q.lookup})-[:NAMES]->(node:Entity)
  WHERE node.tenant = $tenant AND (q.type IS NULL OR node.type = q.type)
  RETURN node, false AS by_id, all(method IN collect(alias.method) WHERE method = 'guess') AS guessed
}
WITH q, node, by_id, guessed
WHERE (size(node.policies) > 0 AND all(policy IN node.policies WHERE policy IN $allowed))
  OR EXISTS { (node)-[r]-(:Entity) WHERE r.tenant = $tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
    AND all(reference IN r.acl WHERE reference IN $granted) }
RETURN q.number AS number, node.type AS type, node.id AS id, node.name AS name, by_id, guessed
ORDER BY number, type, id
