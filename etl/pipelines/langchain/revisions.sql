SELECT DISTINCT doc, $effective_at AS effective_at
FROM passages
WHERE doc IS NOT NULL
ORDER BY doc
