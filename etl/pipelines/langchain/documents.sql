SELECT DISTINCT document AS doc_id, document AS title, source_type_of(document, 'langchain') AS source_type
FROM passages
WHERE document IS NOT NULL
ORDER BY document
