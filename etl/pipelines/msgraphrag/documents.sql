SELECT id AS doc_id, title, source_type_of(id, 'graphrag') AS source_type
FROM documents
