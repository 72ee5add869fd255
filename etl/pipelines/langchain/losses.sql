SELECT 'unknown' AS outcome, 'policy' AS subject, 'LangChain knows no policy, and the option gives none: every edge is withheld' AS reason,
    coalesce(sum(len(relationships)), 0)::BIGINT AS count
FROM passages WHERE $policy IS NULL
UNION ALL
SELECT 'defaulted', 'policy', 'the option', coalesce(sum(len(relationships)), 0)::BIGINT FROM passages WHERE $policy IS NOT NULL
UNION ALL
SELECT 'unknown', 'document', 'the metadata of a passage name no source: its passage and edges are refused', count(*)
FROM passages WHERE document IS NULL
UNION ALL
SELECT 'defaulted', 'revision', 'the version is the hash of the passages', count(DISTINCT doc) FROM passages
UNION ALL
SELECT 'defaulted', 'effective_at', 'the option', count(DISTINCT doc) FROM passages WHERE $effective_at IS NOT NULL
UNION ALL
SELECT 'defaulted', 'title', 'the id of the document', count(DISTINCT document) FROM passages
UNION ALL
SELECT 'dropped', 'metadata', 'metadata other than the source', count(*)
FROM graph_documents WHERE len(json_keys(source.metadata)) > 1
