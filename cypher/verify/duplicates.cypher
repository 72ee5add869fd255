// verify.duplicates — keys that more than one record has; asked only when a unique constraint is gone
// access: read
// plan: scan — without the constraint there is nothing to start from
// returns kind, key
MATCH (n:Document) WITH n.tenant AS tenant, [n.doc_id] AS key, count(*) AS found WHERE found > 1
RETURN 'document' AS kind, [tenant] + key AS key
UNION ALL
MATCH (n:Revision) WITH n.tenant AS tenant, [n.doc] AS key, count(*) AS found WHERE found > 1
RETURN 'revision' AS kind, [tenant] + key AS key
UNION ALL
MATCH (n:Chunk) WITH n.tenant AS tenant, [n.doc, n.chunk] AS key, count(*) AS found WHERE found > 1
RETURN 'chunk' AS kind, [tenant] + key AS key
UNION ALL
MATCH (n:Entity) WITH n.tenant AS tenant, [n.type, n.id] AS key, count(*) AS found WHERE found > 1
RETURN 'entity' AS kind, [tenant] + key AS key
UNION ALL
MATCH (n:Assertion) WITH n.tenant AS tenant, [n.edge_id] AS key, count(*) AS found WHERE found > 1
RETURN 'edge' AS kind, [tenant] + key AS key
UNION ALL
MATCH (n:Alias) WITH n.tenant AS tenant, [n.alias_id] AS key, count(*) AS found WHERE found > 1
RETURN 'alias' AS kind, [tenant] + key AS key
