-- Evidence is the text units that a relationship lists. One that names no text unit, or two joined in one text, has no revision: the
-- edge is refused. An end that names no entity has no type.
WITH cited AS (
    SELECT relationships.id, list({doc: passages.doc, chunk: unit} ORDER BY place, passages.doc) AS evidence
    FROM (SELECT id, unnest(text_unit_ids) AS unit, generate_subscripts(text_unit_ids, 1) AS place FROM relationships) AS relationships
    LEFT JOIN passages ON passages.chunk = unit
    GROUP BY relationships.id
),
types AS (
    SELECT title, type_name(first(type ORDER BY type)) AS type FROM entities GROUP BY title
)
SELECT
    'related' AS relation,
    {type: coalesce(sources.type, $unknown_type), id: source} AS source,
    {type: coalesce(targets.type, $unknown_type), id: target} AS target,
    coalesce(evidence, []) AS evidence,
    stated({policy: $policy}) AS access,
    stated({description: description, weight: weight, graphrag_id: relationships.id}) AS attributes
FROM relationships
LEFT JOIN cited USING (id)
LEFT JOIN types AS sources ON sources.title = source
LEFT JOIN types AS targets ON targets.title = target
ORDER BY relationships.id
