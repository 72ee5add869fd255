-- What mentions name: an entity is its main mention (the most frequent name, then the longest, then the greatest), under its most
-- frequent type (the greatest on a tie). The id folds case and spaces, so that two documents mean the same one.
WITH vertices AS (
    SELECT title, unnest(vertexSet) AS mentions, generate_subscripts(vertexSet, 1) - 1 AS vertex
    FROM annotated
),
mentions AS (
    SELECT title, vertex, unnest(mentions, recursive := true)
    FROM vertices
),
names AS (
    SELECT title, vertex, first(name ORDER BY times DESC, length(name) DESC, name DESC) AS main
    FROM (SELECT title, vertex, name, count(*) AS times FROM mentions GROUP BY ALL)
    GROUP BY ALL
),
types AS (
    SELECT title, vertex, first(type ORDER BY times DESC, type DESC) AS type
    FROM (SELECT title, vertex, type, count(*) AS times FROM mentions GROUP BY ALL)
    GROUP BY ALL
)
SELECT title, vertex, type_name(type) AS type, main AS written,
    lower(trim(regexp_replace(nfc_normalize(main), '[\s\x{00A0}\x{2000}-\x{200A}\x{202F}\x{3000}]+', ' ', 'g'))) AS id
FROM names JOIN types USING (title, vertex)
ORDER BY title, vertex
