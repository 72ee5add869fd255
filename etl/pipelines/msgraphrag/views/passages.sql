-- Text units with their revision. A unit of several documents is a passage of each; older versions list them, newer ones name one.
WITH placed AS (
    SELECT id AS chunk, text, human_readable_id AS number, unnest(coalesce(document_ids, [document_id])) AS document_id
    FROM text_units
)
SELECT
    chunk, placed.text AS text, document_id,
    document_id || '@sha256-' || substr(sha256(documents.text), 1, 16) AS doc,
    row_number() OVER (PARTITION BY document_id ORDER BY number, chunk) - 1 AS ordinal
FROM placed LEFT JOIN documents ON documents.id = document_id
ORDER BY document_id, ordinal
