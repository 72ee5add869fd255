-- stated() leaves out what is NULL: an empty policy cell says nothing, it does not say "null".
SELECT
    relation_name(relation) AS relation,
    {type: type_name(source_type), id: source} AS source,
    {type: type_name(target_type), id: target} AS target,
    [stated({doc: doc, chunk: chunk, policy: policy, polarity: polarity, confidence: number(confidence)})] AS evidence,
    {environment: environment, region: region, valid_from: valid_from, valid_to: valid_to} AS scope,
    CASE WHEN relation_name(relation) = relation THEN stated({}) ELSE stated({relation: relation}) END AS attributes
FROM edges
