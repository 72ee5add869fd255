// history.newer — records that came after a run
// access: read
// plan: scan — rolling back looks at everything that came since
// param seq: integer
// returns kind, node
MATCH (n:Document) WHERE n.since > $seq
RETURN 'document' AS kind, properties(n) AS node
UNION ALL
MATCH (n:Revision) WHERE n.since > $seq
RETURN 'revision' AS kind, properties(n) AS node
UNION ALL
MATCH (n:Chunk) WHERE n.since > $seq
RETURN 'chunk' AS kind, properties(n) AS node
UNION ALL
MATCH (n:Entity) WHERE n.since > $seq
RETURN 'entity' AS kind, properties(n) AS node
UNION ALL
MATCH (n:Alias) WHERE n.since > $seq
RETURN 'alias' AS kind, properties(n) AS node
UNION ALL
MATCH (n:Assertion) WHERE n.since > $seq
RETURN 'assertion' AS kind, properties(n) AS node
