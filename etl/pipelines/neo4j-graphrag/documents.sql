SELECT document_id AS doc_id, coalesce(path, document_id) AS title, source_type_of(document_id, 'neo4j-graphrag') AS source_type
FROM cited_documents
