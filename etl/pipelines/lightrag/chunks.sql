SELECT doc, chunk, ordinal, passages.text AS text, content_hash(passages.text) AS content_sha256, 'lightrag' AS chunker_version
FROM passages LEFT JOIN sources ON sources.id = document_id
