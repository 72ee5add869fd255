// path.aliases — the visible entities that a name reaches, and whether only a guess leads there
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param ends: list<map>
// returns number, id, guessed
UNWIND $ends AS end
MATCH (alias:Alias {tenant: $tenant, lookup: end.lookup})-[:NAMES]->(entity:Entity)
WHERE alias.type = end.type AND entity.type = end.type AND entity.tenant = $tenant
  AND ((size(entity.policies) > 0 AND all(policy IN entity.policies WHERE policy IN $allowed))
    OR EXISTS { (entity)-[r]-(:Entity) WHERE r.tenant = $tenant
      AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
      AND all(reference IN r.acl WHERE reference IN $granted) })
RETURN end.number AS number, entity.id AS id, all(method IN collect(alias.method) WHERE method = 'guess') AS guessed
ORDER BY number, id
