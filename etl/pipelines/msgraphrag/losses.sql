SELECT 'unknown' AS outcome, 'relation' AS subject, 'GraphRAG names no relation: each edge is called related' AS reason, count(*) AS count
FROM relationships
UNION ALL
SELECT 'unknown', 'policy', 'GraphRAG knows no policy, and the option gives none: every edge is withheld', count(*)
FROM relationships WHERE $policy IS NULL
UNION ALL
SELECT 'defaulted', 'policy', 'the option', count(*) FROM relationships WHERE $policy IS NOT NULL
UNION ALL
SELECT 'unknown', 'end of a relationship', 'it names no entity: refused, or of the type of the option', count(*)
FROM relationships WHERE source NOT IN (SELECT title FROM entities) OR target NOT IN (SELECT title FROM entities)
UNION ALL
SELECT 'unknown', 'passage', 'a text unit id that names no text unit', count(*)
FROM (SELECT unnest(text_unit_ids) AS unit FROM relationships) WHERE unit NOT IN (SELECT id FROM text_units)
UNION ALL
SELECT 'defaulted', 'revision', 'the version is the hash of the text', count(*) FROM documents
UNION ALL
SELECT 'defaulted', 'effective_at', 'the creation date of the file', count(*) FROM documents WHERE creation_date IS NOT NULL
UNION ALL
SELECT 'defaulted', 'effective_at', 'the option', count(*) FROM documents WHERE creation_date IS NULL
UNION ALL
SELECT 'dropped', 'claim', 'claims (covariates) have no two ends', count(*) FROM covariates
