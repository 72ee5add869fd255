-- A passage is a source text; its document is what its metadata call the source. A passage without an id is called by its hash.
WITH numbered AS (
    SELECT row_number() OVER () - 1 AS number, nodes, relationships,
        source.page_content AS text, source.metadata ->> 'source' AS document,
        coalesce(source.id, 'sha256-' || substr(sha256(source.page_content), 1, 16)) AS chunk
    FROM graph_documents
),
versions AS (
    SELECT document, document || '@sha256-' || substr(sha256(string_agg(content_hash(text), ' ' ORDER BY number)), 1, 16) AS doc
    FROM numbered
    WHERE document IS NOT NULL
    GROUP BY document
)
SELECT number, document, doc, chunk, text, nodes, relationships,
    row_number() OVER (PARTITION BY document ORDER BY number) - 1 AS ordinal
FROM numbered LEFT JOIN versions USING (document)
ORDER BY number
