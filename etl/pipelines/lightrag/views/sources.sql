-- Document id -> {content, file_path}. A graph that was inserted ready-made has no full text: the version is that of its passages.
WITH full_texts AS (
    SELECT kept.key AS id, kept.value ->> 'content' AS text, kept.value ->> 'file_path' AS file_path
    FROM full_docs, json_each(CAST(text AS JSON)) AS kept
),
cut AS (
    SELECT document_id AS id, sha256(string_agg(content_hash(text), ' ' ORDER BY ordinal, chunk)) AS hash, min(file_path) AS file_path
    FROM passages
    WHERE document_id IS NOT NULL
    GROUP BY document_id
)
SELECT id, full_texts.text AS text, coalesce(nullif(full_texts.file_path, ''), nullif(cut.file_path, ''), id) AS title,
    id || '@sha256-' || substr(coalesce(sha256(full_texts.text), cut.hash), 1, 16) AS doc
FROM cut FULL JOIN full_texts USING (id)
ORDER BY id
