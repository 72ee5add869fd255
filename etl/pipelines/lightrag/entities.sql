SELECT type_name(data['entity_type']) AS type, id, id AS name,
    stated({type: data['entity_type'], description: data['description']}) AS attributes
FROM graph
WHERE element = 'node'
ORDER BY id
