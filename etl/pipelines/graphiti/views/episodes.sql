-- An episode is called by its uuid; its version is the hash of its content.
SELECT properties ->> 'uuid' AS uuid, coalesce(properties ->> 'group_id', '') AS group_id, properties ->> 'name' AS title,
    properties ->> 'content' AS text, properties ->> 'source' AS source, properties ->> 'source_description' AS source_description,
    coalesce(properties ->> 'valid_at', properties ->> 'created_at') AS effective_at, properties ->> 'valid_at' IS NULL AS undated,
    uuid || '@sha256-' || substr(sha256(coalesce(text, '')), 1, 16) AS doc
FROM nodes
WHERE list_contains(labels, 'Episodic')
ORDER BY uuid
