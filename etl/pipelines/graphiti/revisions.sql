SELECT doc, effective_at, content_hash(text) AS content_sha256
FROM episodes
WHERE group_id = coalesce($group_id, '')
