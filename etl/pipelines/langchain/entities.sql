WITH named AS (SELECT unnest(nodes, recursive := true) FROM passages)
SELECT DISTINCT type_name(type) AS type, id, id AS name,
    stated({type: type, properties: CASE WHEN CAST(properties AS VARCHAR) <> '{}' THEN CAST(properties AS VARCHAR) END}) AS attributes
FROM named
ORDER BY ALL
