-- A document is called by its path. Texts without a file all bear the same one; then the hash of the passages tells them apart.
WITH cut AS (
    SELECT relationships.target AS node,
        sha256(string_agg(content_hash(coalesce(chunks.properties ->> 'text', '')), ' '
            ORDER BY TRY_CAST(chunks.properties ->> 'index' AS BIGINT), chunks.properties ->> 'text')) AS hash
    FROM relationships JOIN nodes AS chunks ON chunks.id = relationships.source
    WHERE relationships.type = 'FROM_DOCUMENT' AND list_contains(chunks.labels, 'Chunk')
    GROUP BY relationships.target
),
found AS (
    SELECT id AS node, properties ->> 'path' AS path, properties ->> 'createdAt' AS created_at, cut.hash AS hash,
        count(*) OVER (PARTITION BY properties ->> 'path') AS bearers
    FROM nodes LEFT JOIN cut ON cut.node = nodes.id
    WHERE list_contains(labels, 'Document')
)
SELECT node, path, created_at, CASE WHEN bearers = 1 THEN path ELSE path || '#' || substr(hash, 1, 16) END AS document_id,
    document_id || '@sha256-' || substr(hash, 1, 16) AS doc, bearers > 1 AS shares_its_path
FROM found
ORDER BY document_id, node
