WITH sentences AS (
    SELECT title, unnest(sents) AS words, generate_subscripts(sents, 1) - 1 AS number
    FROM annotated
)
SELECT
    title || '@1' AS doc,
    CAST(number AS VARCHAR) AS chunk,
    number AS ordinal,
    array_to_string(words, ' ') AS text,
    content_hash(array_to_string(words, ' ')) AS content_sha256,
    're-docred' AS chunker_version
FROM sentences
