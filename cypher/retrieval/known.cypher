// retrieval.known — which retrievals are recorded already
// access: read
// param tenant: string
// param retrieval_ids: list<string>
// returns retrieval_id, since
UNWIND $retrieval_ids AS retrieval_id
MATCH (n:RecordedRetrieval {tenant: $tenant, retrieval_id: retrieval_id})
RETURN n.retrieval_id AS retrieval_id, n.since AS since
