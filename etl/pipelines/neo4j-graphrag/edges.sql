-- Free text for a relation or a type becomes a name by the rule name/1; the text stays in the attributes.
WITH comes_from AS (
    SELECT source AS entity, target AS passage FROM relationships WHERE type = 'FROM_CHUNK'
),
shared AS (
    SELECT relationships.id, list({doc: cited_passages.doc, chunk: cited_passages.chunk} ORDER BY doc, chunk) AS evidence
    FROM relationships
    JOIN comes_from AS sources ON sources.entity = relationships.source
    JOIN comes_from AS targets ON targets.entity = relationships.target AND targets.passage = sources.passage
    JOIN cited_passages ON cited_passages.node = sources.passage
    GROUP BY relationships.id
)
SELECT relation_name(relationships.type) AS relation,
    {type: type_name(sources.type), id: sources.name} AS source,
    {type: type_name(targets.type), id: targets.name} AS target,
    CASE WHEN len(evidence) = 1 OR $several = 'cite' THEN coalesce(evidence, []) ELSE [] END AS evidence,
    stated({policy: $policy}) AS access,
    stated({relation: relationships.type, properties: CASE WHEN CAST(relationships.properties AS VARCHAR) <> '{}'
        THEN CAST(relationships.properties AS VARCHAR) END}) AS attributes
FROM relationships
JOIN extracted AS sources ON sources.node = relationships.source
JOIN extracted AS targets ON targets.node = relationships.target
LEFT JOIN shared ON shared.id = relationships.id
ORDER BY sources.name, relationships.type, targets.name, relationships.id
