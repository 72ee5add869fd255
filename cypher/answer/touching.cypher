// answer.touching — for auditors and operators: which recorded answers rest on some edges
// access: read
// param tenant: string
// param edge_ids: list<string>
// returns answer_id, edge_ids
UNWIND $edge_ids AS edge_id
MATCH (s:RecordedStep {tenant: $tenant, edge_id: edge_id})
RETURN s.answer_id AS answer_id, collect(DISTINCT s.edge_id) AS edge_ids
ORDER BY answer_id
