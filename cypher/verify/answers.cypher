// verify.answers — every recorded answer, with the edges that its steps name
// access: read
// plan: scan — verification reads everything
// returns node, steps
MATCH (n:RecordedAnswer)
RETURN properties(n) AS node, [(n)-[:HAS_RECORDED_STEP]->(s:RecordedStep) | [s.tenant, s.answer_id, s.edge_id]] AS steps
