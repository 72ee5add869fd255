// foreign.relationships — every relationship of another tool's database
// access: read
// plan: scan — a pipeline reads all of its source
// returns id, type, source, target, properties
MATCH (s)-[r]->(t)
RETURN elementId(r) AS id, type(r) AS type, elementId(s) AS source, elementId(t) AS target, properties(r) AS properties
