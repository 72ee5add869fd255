-- The format knows one state of each document.
SELECT title || '@1' AS doc, $effective_at AS effective_at, true AS complete
FROM annotated
