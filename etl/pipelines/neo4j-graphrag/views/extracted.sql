-- An entity is called by its name; one without a name by its id, or by the id of its node.
SELECT id AS node, coalesce(properties ->> 'name', properties ->> 'id', 'node:' || id) AS name, properties,
    list_sort(list_filter(labels, lambda label: NOT starts_with(label, '__')))[1] AS type,
    len(list_filter(labels, lambda label: NOT starts_with(label, '__'))) AS types
FROM nodes
WHERE list_contains(labels, '__Entity__')
