// source.head_candidates — the declared revisions of some documents
// access: read
// param keys: list<[tenant, doc_id]>
// returns key, doc, effective_at, supersedes, arrival, complete
UNWIND $keys AS key
MATCH (d:Document {tenant: key[0], doc_id: key[1]})-[:HAS_REVISION]->(r:Revision)
WHERE r.registered
RETURN key, r.doc AS doc, r.effective_at AS effective_at, r.supersedes AS supersedes, coalesce(r.arrival, r.since) AS arrival,
  r.complete AS complete
