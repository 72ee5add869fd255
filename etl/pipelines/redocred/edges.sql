-- A label whose evidence list is empty is sent as it is: the load refuses it and says why.
WITH labels AS (
    SELECT title, unnest(labels, recursive := true)
    FROM annotated
)
SELECT
    relation_name(r) AS relation,
    {type: source.type, id: source.id} AS source,
    {type: target.type, id: target.id} AS target,
    list_transform(evidence, lambda sentence: {doc: labels.title || '@1', chunk: CAST(sentence AS VARCHAR)}) AS evidence
FROM labels
LEFT JOIN ends AS source ON source.title = labels.title AND source.vertex = h
LEFT JOIN ends AS target ON target.title = labels.title AND target.vertex = t
