SELECT doc, 'content' AS chunk, 0 AS ordinal, text, content_hash(text) AS content_sha256, 'graphiti' AS chunker_version
FROM episodes
WHERE group_id = coalesce($group_id, '')
