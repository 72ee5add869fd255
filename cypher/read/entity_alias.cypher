// read.entity_alias — visible entities that have exactly this alias
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param lookup: string
// returns type, id, name, names
MATCH (alias:Alias {tenant: $tenant, lookup: $lookup})-[:NAMES]->(node:Entity)
WHERE node.tenant = $tenant AND ((size(node.policies) > 0 AND all(policy IN node.policies WHERE policy IN $allowed))
  OR EXISTS { (node)-[r]-(:Entity) WHERE r.tenant = $tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
    AND all(reference IN r.acl WHERE reference IN $granted) })
WITH DISTINCT node ORDER BY node.type, node.id
RETURN node.type AS type, node.id AS id, node.name AS name, node.names AS names
