// purge.documents — documents of a tenant with their revisions, in order, those behind one of them
// access: read
// param tenant: string
// param after: string
// param limit: integer
// returns document, revisions
MATCH (d:Document)
WHERE d.tenant = $tenant AND d.doc_id > $after
WITH d ORDER BY d.tenant, d.doc_id LIMIT $limit
RETURN d {.tenant, .doc_id, .head, .line, .tombstones, .since, .changed} AS document,
  [(d)-[:HAS_REVISION]->(r:Revision) | r {.doc, .registered, .since}] AS revisions
