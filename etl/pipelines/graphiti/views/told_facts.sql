-- The uuids of the episodes are a list; Graphiti's other databases join them into one text, which is not taken apart here.
SELECT relationships.properties ->> 'uuid' AS uuid, coalesce(relationships.properties ->> 'group_id', '') AS group_id,
    relationships.properties ->> 'name' AS name, relationships.properties ->> 'fact' AS fact,
    TRY_CAST(relationships.properties -> 'episodes' AS VARCHAR[]) AS episodes, relationships.properties ->> 'valid_at' AS valid_at,
    relationships.properties ->> 'invalid_at' AS invalid_at, relationships.properties ->> 'expired_at' AS expired_at,
    sources.type AS source_type, sources.uuid AS source, targets.type AS target_type, targets.uuid AS target
FROM relationships
JOIN things AS sources ON sources.node = relationships.source
JOIN things AS targets ON targets.node = relationships.target
WHERE relationships.type = 'RELATES_TO'
ORDER BY uuid
