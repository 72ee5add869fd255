// verify.retrievals — every recorded retrieval
// access: read
// plan: scan — verification reads everything
// returns node
MATCH (n:RecordedRetrieval)
RETURN properties(n) AS node
