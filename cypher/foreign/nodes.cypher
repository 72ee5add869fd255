// foreign.nodes — every node of another tool's database
// access: read
// plan: scan — a pipeline reads all of its source
// returns id, labels, properties
MATCH (n)
RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties
