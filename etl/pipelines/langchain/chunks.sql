-- The same text twice in one document is one passage.
SELECT doc, chunk, min(ordinal) AS ordinal, text, content_hash(text) AS content_sha256, 'langchain' AS chunker_version
FROM passages
GROUP BY doc, chunk, text
ORDER BY min(number)
