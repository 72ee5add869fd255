SELECT type_name(type) AS type, name AS id, name,
    stated({type: type, properties: CASE WHEN CAST(properties AS VARCHAR) <> '{}' THEN CAST(properties AS VARCHAR) END}) AS attributes
FROM extracted
ORDER BY ALL
