// answer.page — for auditors and operators: recorded answers by id
// access: read
// param tenant: string
// param after: string
// param limit: integer
// returns answer
MATCH (n:RecordedAnswer)
WHERE n.tenant = $tenant AND n.answer_id > $after
WITH n ORDER BY n.tenant, n.answer_id LIMIT $limit
RETURN properties(n) AS answer
