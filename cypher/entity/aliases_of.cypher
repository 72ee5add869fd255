// entity.aliases_of — the aliases of one entity, as stored
// access: read
// param tenant: string
// param type: string
// param id: string
// returns node
MATCH (:Entity {tenant: $tenant, type: $type, id: $id})<-[:NAMES]-(n:Alias)
RETURN properties(n) AS node
