-- Free text for a relation or a type becomes a name by the rule name/1; the text stays in the attributes. Properties may be nested, so
-- they are kept as JSON text.
WITH found AS (
    SELECT doc, chunk, number, unnest(relationships) AS one
    FROM passages
)
SELECT
    relation_name(one.type) AS relation,
    {type: type_name(one.source.type), id: one.source.id} AS source,
    {type: type_name(one.target.type), id: one.target.id} AS target,
    [{doc: doc, chunk: chunk}] AS evidence,
    stated({policy: $policy}) AS access,
    stated({relation: one.type,
            properties: CASE WHEN CAST(one.properties AS VARCHAR) <> '{}' THEN CAST(one.properties AS VARCHAR) END}) AS attributes
FROM found
ORDER BY number
