-- The key-value store is one JSON object: chunk id -> {content, full_doc_id, chunk_order_index}.
SELECT kept.key AS chunk, kept.value ->> 'content' AS text, kept.value ->> 'full_doc_id' AS document_id,
    TRY_CAST(kept.value ->> 'chunk_order_index' AS BIGINT) AS ordinal, kept.value ->> 'file_path' AS file_path
FROM text_chunks, json_each(CAST(text AS JSON)) AS kept
ORDER BY document_id, ordinal, chunk
