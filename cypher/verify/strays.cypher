// verify.strays — relationships and labels that the data model does not have
// access: read
// plan: scan — verification reads everything; only what is wrong is returned
// returns what, keys
MATCH (s)-[r]->(t)
WHERE NOT (
    s:Entity AND t:Entity
    OR s:Assertion AND t:Chunk AND type(r) = 'EVIDENCED_BY'
    OR s:Revision AND t:Chunk AND type(r) = 'HAS_CHUNK'
    OR s:Document AND t:Revision AND type(r) = 'HAS_REVISION'
    OR s:Alias AND t:Entity AND type(r) = 'NAMES'
    OR s:Run AND t:Staged AND type(r) = 'HOLDS'
    OR s:RecordedAnswer AND t:RecordedStep AND type(r) = 'HAS_RECORDED_STEP')
  AND (r.edge_id IS NOT NULL
    OR s:Staged OR t:Staged OR s:RecordedAnswer OR s:RecordedStep OR t:RecordedAnswer OR t:RecordedStep
    OR (s:Entity OR s:Assertion OR s:Chunk OR s:Revision OR s:Document OR s:Alias)
      AND (t:Entity OR t:Assertion OR t:Chunk OR t:Revision OR t:Document OR t:Alias)
    OR type(r) IN ['EVIDENCED_BY', 'HAS_CHUNK', 'HAS_REVISION', 'HAS_RECORDED_STEP', 'HOLDS', 'NAMES'])
RETURN type(r) AS what, [n IN [s, t] | [labels(n)[0], n.tenant, coalesce(n.edge_id, n.alias_id, n.answer_id, n.id, n.doc_id, n.doc), n.chunk]] AS keys
UNION ALL
MATCH (n:Withheld) WHERE NOT n:Assertion
RETURN 'Withheld' AS what, [[labels(n)[0], n.tenant, coalesce(n.edge_id, n.alias_id, n.id, n.doc_id, n.doc), n.chunk]] AS keys
UNION ALL
MATCH (n:Staged) WHERE NOT EXISTS { (:Run)-[:HOLDS]->(n) }
RETURN 'Staged' AS what, [[labels(n)[0], null, n.file, null]] AS keys
