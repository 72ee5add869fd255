// retrieval.by_trace — the retrievals of one trace, in the order of their recording
// access: read
// param tenant: string
// param trace_id: string
// returns retrieval
MATCH (n:RecordedRetrieval {tenant: $tenant, trace_id: $trace_id})
RETURN properties(n) AS retrieval
ORDER BY n.since, n.place, n.retrieval_id
