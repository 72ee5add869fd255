// export.relationships — every relationship between two nodes of the product, as stored
// access: read
// plan: scan — an export reads everything
// returns start, end, type, properties
MATCH (s:Document|Revision|Assertion|Entity|Alias|RecordedAnswer)-[r]->(t:Revision|Chunk|Entity|RecordedStep)
RETURN elementId(s) AS start, elementId(t) AS end, type(r) AS type, properties(r) AS properties
