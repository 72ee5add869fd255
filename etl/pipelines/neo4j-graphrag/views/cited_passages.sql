-- Neo4jWriter takes the ids of chunks away when it has written them: a chunk is called by its number in the document.
SELECT nodes.id AS node, cited_documents.doc AS doc, nodes.properties ->> 'text' AS text,
    TRY_CAST(nodes.properties ->> 'index' AS BIGINT) AS ordinal, coalesce(nodes.properties ->> 'id', nodes.properties ->> 'index') AS chunk
FROM nodes
LEFT JOIN relationships ON relationships.source = nodes.id AND relationships.type = 'FROM_DOCUMENT'
LEFT JOIN cited_documents ON cited_documents.node = relationships.target
WHERE list_contains(nodes.labels, 'Chunk')
ORDER BY doc, ordinal, nodes.id
