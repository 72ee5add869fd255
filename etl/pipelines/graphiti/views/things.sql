-- Every entity has the label Entity; a further one is its type.
SELECT id AS node, properties ->> 'uuid' AS uuid, coalesce(properties ->> 'group_id', '') AS group_id, properties ->> 'name' AS name,
    properties ->> 'summary' AS summary, coalesce(list_sort(list_filter(labels, lambda label: label <> 'Entity'))[1], 'Entity') AS type
FROM nodes
WHERE list_contains(labels, 'Entity')
ORDER BY uuid
