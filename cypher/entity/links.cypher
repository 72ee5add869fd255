// entity.links — for auditors and operators: the aliases that a linker made, all versions or one, with the entities they name
// access: read
// param tenant: string
// param linker: string
// param version: string
// returns alias, entity
MATCH (a:Alias {tenant: $tenant, linker: $linker})
WHERE $version IS NULL OR a.linker_version = $version
MATCH (a)-[:NAMES]->(e:Entity)
WHERE e.tenant = $tenant
RETURN a {.alias, .type, .method, .linker, .linker_version, .since} AS alias, e {.type, .id, .name} AS entity
ORDER BY e.type, e.id, a.alias, a.method, a.linker_version
