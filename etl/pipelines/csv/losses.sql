SELECT 'unknown' AS outcome, 'policy' AS subject, 'neither the row nor its document states one' AS reason, count(*) AS count
FROM edges LEFT JOIN (SELECT doc, any_value(policy) AS policy FROM documents GROUP BY doc) AS told USING (doc)
WHERE edges.policy IS NULL AND told.policy IS NULL
UNION ALL
SELECT 'unknown', 'revision', 'documents.csv does not tell from when it is in force', count(DISTINCT doc)
FROM edges WHERE doc NOT IN (SELECT doc FROM documents WHERE doc IS NOT NULL)
UNION ALL
SELECT 'defaulted', 'name', 'relation or type is no legal name: the rule name/1 makes one', count(*)
FROM edges
WHERE relation_name(relation) <> relation OR type_name(source_type) <> source_type OR type_name(target_type) <> target_type
