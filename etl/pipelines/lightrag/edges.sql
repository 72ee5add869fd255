-- source_id joins the ids of the chunks with <SEP>: LightRAG's own rule, by which they are taken apart. A chunk that the store does not
-- have has no revision: the edge is refused.
WITH edges AS (
    SELECT row_number() OVER () AS number, source, target, data
    FROM graph
    WHERE element = 'edge'
),
cited AS (
    SELECT number, list({doc: sources.doc, chunk: unit} ORDER BY place) AS evidence
    FROM (
        SELECT number, unnest(string_split(data['source_id'], '<SEP>')) AS unit,
            generate_subscripts(string_split(data['source_id'], '<SEP>'), 1) AS place
        FROM edges
        WHERE data['source_id'] <> ''
    )
    LEFT JOIN passages ON passages.chunk = unit
    LEFT JOIN sources ON sources.id = document_id
    GROUP BY number
),
types AS (
    SELECT id, type_name(data['entity_type']) AS type
    FROM graph
    WHERE element = 'node'
)
SELECT
    'related' AS relation,
    {type: source_types.type, id: edges.source} AS source,
    {type: target_types.type, id: edges.target} AS target,
    coalesce(evidence, []) AS evidence,
    stated({policy: $policy}) AS access,
    stated({keywords: data['keywords'], description: data['description'], weight: number(data['weight'])}) AS attributes
FROM edges
LEFT JOIN cited USING (number)
LEFT JOIN types AS source_types ON source_types.id = edges.source
LEFT JOIN types AS target_types ON target_types.id = edges.target
ORDER BY number
