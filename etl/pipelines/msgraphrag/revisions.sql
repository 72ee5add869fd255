-- The creation date is written as 2025-03-04 09:39:37 -0800.
SELECT
    id || '@sha256-' || substr(sha256(text), 1, 16) AS doc,
    coalesce(regexp_replace(creation_date, '\s+([+-])', '\1'), $effective_at) AS effective_at,
    content_hash(text) AS content_sha256
FROM documents
