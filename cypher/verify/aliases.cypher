// verify.aliases — every alias with the keys of the entities it names
// access: read
// plan: scan — verification reads everything
// returns node, entities
MATCH (n:Alias)
RETURN properties(n) AS node, [(n)-[:NAMES]->(e:Entity) | [e.tenant, e.type, e.id]] AS entities
