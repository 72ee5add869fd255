SELECT doc, coalesce($effective_at, created_at) AS effective_at
FROM cited_documents
WHERE doc IS NOT NULL
