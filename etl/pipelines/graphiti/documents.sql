SELECT uuid AS doc_id, coalesce(nullif(title, ''), uuid) AS title, 'graphiti' AS source_type,
    stated({source: source, source_description: nullif(source_description, '')}) AS attributes
FROM episodes
WHERE group_id = coalesce($group_id, '')
