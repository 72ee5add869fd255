SELECT 'defaulted' AS outcome, 'revision' AS subject, 'the format knows one state of a document: it is called @1' AS reason, count(*) AS count
FROM annotated
UNION ALL
SELECT 'defaulted', 'effective_at', 'the format has no dates: the option effective_at', count(*) FROM annotated
UNION ALL
SELECT 'dropped', 'mention', 'where a mention stands in its sentence', coalesce(sum(list_sum(list_transform(vertexSet, lambda one: len(one)))), 0)::BIGINT
FROM annotated
