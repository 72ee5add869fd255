SELECT id AS doc_id, title, source_type_of(id, 'lightrag') AS source_type
FROM sources
