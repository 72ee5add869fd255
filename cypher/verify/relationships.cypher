// verify.relationships — every relationship between two entities, whoever made it
// access: read
// plan: scan — verification reads everything
// returns type, source, target, properties
MATCH (s:Entity)-[r]->(t:Entity)
RETURN type(r) AS type, [s.tenant, s.type, s.id] AS source, [t.tenant, t.type, t.id] AS target, properties(r) AS properties
