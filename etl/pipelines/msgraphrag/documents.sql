SELECT id AS doc_id, title, 'graphrag' AS source_type
FROM documents
