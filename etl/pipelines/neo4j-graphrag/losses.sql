WITH comes_from AS (
    SELECT source AS entity, target AS passage FROM relationships WHERE type = 'FROM_CHUNK'
),
edges AS (
    SELECT relationships.id, count(targets.passage) AS shared
    FROM relationships
    JOIN extracted AS heads ON heads.node = relationships.source
    JOIN extracted AS tails ON tails.node = relationships.target
    LEFT JOIN comes_from AS sources ON sources.entity = relationships.source
    LEFT JOIN comes_from AS targets ON targets.entity = relationships.target AND targets.passage = sources.passage
    GROUP BY relationships.id
)
SELECT 'unknown' AS outcome, 'policy' AS subject, 'neo4j-graphrag knows no policy, and the option gives none: every edge is withheld' AS reason,
    count(*) AS count
FROM edges WHERE $policy IS NULL
UNION ALL
SELECT 'defaulted', 'policy', 'the option', count(*) FROM edges WHERE $policy IS NOT NULL
UNION ALL
SELECT 'defaulted', 'evidence', 'the one passage that both ends come from', count(*) FROM edges WHERE shared = 1
UNION ALL
SELECT 'defaulted', 'evidence', 'all passages that both ends come from: which of them says it is not known', count(*)
FROM edges WHERE shared > 1 AND $several = 'cite'
UNION ALL
SELECT 'unknown', 'evidence', 'both ends come from several passages, and which of them says it is not known: refused', count(*)
FROM edges WHERE shared > 1 AND $several IS DISTINCT FROM 'cite'
UNION ALL
SELECT 'unknown', 'evidence', 'its ends come from no common passage: refused', count(*) FROM edges WHERE shared = 0
UNION ALL
SELECT 'unknown', 'document', 'the passage belongs to no document: refused', count(*) FROM cited_passages WHERE doc IS NULL
UNION ALL
SELECT 'defaulted', 'revision', 'the version is the hash of the passages', count(DISTINCT doc) FROM cited_documents
UNION ALL
SELECT 'defaulted', 'document', 'several documents bear one path: the hash of the passages tells them apart', count(*)
FROM cited_documents WHERE shares_its_path
UNION ALL
SELECT 'defaulted', 'effective_at', 'the option', count(DISTINCT doc) FROM cited_documents WHERE $effective_at IS NOT NULL
UNION ALL
SELECT 'defaulted', 'effective_at', 'when neo4j-graphrag read the document', count(DISTINCT doc) FROM cited_documents WHERE $effective_at IS NULL
UNION ALL
SELECT 'defaulted', 'entity', 'it has no name: its id is that of its node', count(*) FROM extracted WHERE starts_with(name, 'node:')
UNION ALL
SELECT 'dropped', 'type', 'further labels of an entity', coalesce(sum(types - 1), 0)::BIGINT FROM extracted WHERE types > 1
