// read.document_texts — the stored texts of the chunks of one revision
// access: read
// param tenant: string
// param doc: string
// returns texts
MATCH (v:Revision {tenant: $tenant, doc: $doc})
RETURN [(v)-[:HAS_CHUNK]->(c:Chunk) WHERE c.text IS NOT NULL | c {.chunk, .text}] AS texts
