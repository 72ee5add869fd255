SELECT type_name(type) AS type, uuid AS id, name, stated({type: type, summary: nullif(summary, '')}) AS attributes
FROM things
WHERE group_id = coalesce($group_id, '')
