SELECT doc, effective_at, supersedes, source_url
FROM documents
