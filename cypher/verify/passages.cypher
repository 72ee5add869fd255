// verify.passages — what some chunks, their revisions and their documents say, and the way from the chunk to the document
// access: read
// param keys: list<[tenant, doc, chunk]>
// returns key, chunk, parents
UNWIND $keys AS key
MATCH (c:Chunk {tenant: key[0], doc: key[1], chunk: key[2]})
RETURN key, c {.policies, .acl, .registered} AS chunk,
  [(c)<-[:HAS_CHUNK]-(r:Revision)<-[:HAS_REVISION]-(d:Document) |
    {revision: r {.tenant, .doc, .policies, .acl, .registered}, document: d {.tenant, .doc_id, .policies, .head, .line, .whole, .tombstones}}] AS parents
