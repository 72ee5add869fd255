WITH edges AS (SELECT data FROM graph WHERE element = 'edge')
SELECT 'unknown' AS outcome, 'relation' AS subject, 'LightRAG names no relation: each edge is called related' AS reason, count(*) AS count
FROM edges
UNION ALL
SELECT 'unknown', 'direction', 'the graph is undirected: source and target stand as the file has them', count(*) FROM edges
UNION ALL
SELECT 'unknown', 'policy', 'LightRAG knows no policy, and the option gives none: every edge is withheld', count(*)
FROM edges WHERE $policy IS NULL
UNION ALL
SELECT 'defaulted', 'policy', 'the option', count(*) FROM edges WHERE $policy IS NOT NULL
UNION ALL
SELECT 'unknown', 'passage', 'an edge cites a chunk that the store does not have', count(*)
FROM (SELECT unnest(string_split(data['source_id'], '<SEP>')) AS unit FROM edges)
WHERE unit NOT IN (SELECT chunk FROM passages)
UNION ALL
SELECT 'defaulted', 'revision', 'the version is the hash of the text', count(*) FROM sources WHERE text IS NOT NULL
UNION ALL
SELECT 'defaulted', 'revision', 'the full text is not kept: the version is the hash of the passages', count(*) FROM sources WHERE text IS NULL
UNION ALL
SELECT 'defaulted', 'effective_at', 'the option', count(*) FROM sources WHERE $effective_at IS NOT NULL
