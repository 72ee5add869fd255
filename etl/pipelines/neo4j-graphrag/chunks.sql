SELECT doc, chunk, ordinal, text, content_hash(text) AS content_sha256, 'neo4j-graphrag' AS chunker_version
FROM cited_passages
