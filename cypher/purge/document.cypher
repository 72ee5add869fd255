// purge.document — one document with its revisions
// access: read
// param tenant: string
// param doc_id: string
// returns document, revisions
MATCH (d:Document {tenant: $tenant, doc_id: $doc_id})
RETURN d {.tenant, .doc_id, .head, .line, .tombstones, .since, .changed} AS document,
  [(d)-[:HAS_REVISION]->(r:Revision) | r {.doc, .registered, .since}] AS revisions
