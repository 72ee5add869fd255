// export.entities — every entity that a record declares or that has an alias, with its aliases
// access: read
// plan: scan — an export reads everything
// param tenant: string
// param everything: boolean
// returns node, aliases
MATCH (e:Entity)
WHERE ($everything OR e.tenant = $tenant) AND (e.declared OR EXISTS { (:Alias)-[:NAMES]->(e) })
RETURN e {.*, records: null, digest: null} AS node, [(a:Alias)-[:NAMES]->(e) | a {.alias, .method, .linker, .linker_version}] AS aliases
