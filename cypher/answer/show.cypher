// answer.show — one recorded answer
// access: read
// param tenant: string
// param answer_id: string
// returns answer
MATCH (n:RecordedAnswer {tenant: $tenant, answer_id: $answer_id})
RETURN properties(n) AS answer
