// read.document — one document with its revisions
// access: read
// param tenant: string
// param doc_id: string
// returns document, revisions
MATCH (d:Document {tenant: $tenant, doc_id: $doc_id})
RETURN d {.tenant, .doc_id, .title, .source_type, .policies, .attributes, .registered, .head, .line, .tombstones, .since} AS document,
  [(d)-[:HAS_REVISION]->(r:Revision) | r {.tenant, .doc, .version, .effective_at, .supersedes, .source_url, .acl, .policies,
    .content_sha256, .ingested_at, .complete, .registered, .since}] AS revisions
