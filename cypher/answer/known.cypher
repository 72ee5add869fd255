// answer.known — which answers are recorded, and what they were recorded from
// access: read
// param tenant: string
// param answer_ids: list<string>
// returns answer_id, report, since, content_digest
UNWIND $answer_ids AS answer_id
MATCH (n:RecordedAnswer {tenant: $tenant, answer_id: answer_id})
RETURN n.answer_id AS answer_id, n.report AS report, n.since AS since, n.content_digest AS content_digest
