// read.document_passages — the chunks of some revisions, without their texts
// access: read
// param tenant: string
// param docs: list<string>
// returns doc, passages
UNWIND $docs AS doc
MATCH (v:Revision {tenant: $tenant, doc: doc})
RETURN doc, [(v)-[:HAS_CHUNK]->(c:Chunk) | c {.tenant, .chunk, .ordinal, .section_path, .content_sha256, .chunker_version,
  .registered, .purged, .policies, .acl}] AS passages
