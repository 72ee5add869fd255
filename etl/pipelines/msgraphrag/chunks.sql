SELECT doc, chunk, ordinal, text, content_hash(text) AS content_sha256, 'graphrag' AS chunker_version
FROM passages
