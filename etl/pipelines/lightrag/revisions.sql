SELECT doc, $effective_at AS effective_at, content_hash(text) AS content_sha256
FROM sources
