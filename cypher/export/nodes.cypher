// export.nodes — every node of the product, as stored; the record of applied migrations is left out
// access: read
// plan: scan — an export reads everything
// returns id, labels, properties
MATCH (n:Document|Revision|Chunk|Entity|Alias|Assertion|Run|Store|Past|RecordedAnswer|RecordedStep|RecordedRetrieval)
RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties
