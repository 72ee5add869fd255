// read.entities_by_name — visible entities that have one of some names, or it as their id, in whatever case
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param names: list<map>
// returns number, type, id, name, exact
UNWIND $names AS q
CALL db.index.fulltext.queryNodes('entity_names', q.phrase) YIELD node
WITH q, node
WHERE node.tenant = $tenant
  AND (toLower(node.id) = toLower(q.lookup) OR any(name IN node.names WHERE toLower(name) = toLower(q.lookup)))
  AND ((size(node.policies) > 0 AND all(policy IN node.policies WHERE policy IN $allowed))
    OR EXISTS { (node)-[r]-(:Entity) WHERE r.tenant = $tenant
      AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
      AND all(reference IN r.acl WHERE reference IN $granted) })
RETURN q.number AS number, node.type AS type, node.id AS id, node.name AS name, node.id = q.lookup OR q.lookup IN node.names AS exact
ORDER BY number, type, id
