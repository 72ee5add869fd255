// read.entity_find — visible entities by words of their names or ids
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param words: string
// param exact: string
// param limit: integer
// returns type, id, name, names
CALL db.index.fulltext.queryNodes('entity_names', $words) YIELD node
WITH node
WHERE node.tenant = $tenant AND ((size(node.policies) > 0 AND all(policy IN node.policies WHERE policy IN $allowed))
  OR EXISTS { (node)-[r]-(:Entity) WHERE r.tenant = $tenant
    AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
    AND all(reference IN r.acl WHERE reference IN $granted) })
WITH node ORDER BY CASE WHEN node.id = $exact OR $exact IN node.names THEN 0 ELSE 1 END, node.name, node.type, node.id
LIMIT $limit
RETURN node.type AS type, node.id AS id, node.name AS name, node.names AS names
