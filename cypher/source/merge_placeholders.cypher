// source.merge_placeholders — chunks that evidence cites and no record declares, with their revision and document
// access: write
// param rows: list<{tenant, doc_id, doc, version, chunk, since}>
UNWIND $rows AS row
MERGE (d:Document {tenant: row.tenant, doc_id: row.doc_id})
  ON CREATE SET d.registered = false, d.policies = [], d.since = row.since
MERGE (r:Revision {tenant: row.tenant, doc: row.doc})
  ON CREATE SET r.doc_id = row.doc_id, r.version = row.version, r.registered = false, r.policies = [], r.acl = [],
    r.complete = false, r.since = row.since
MERGE (d)-[:HAS_REVISION]->(r)
MERGE (c:Chunk {tenant: row.tenant, doc: row.doc, chunk: row.chunk})
  ON CREATE SET c.registered = false, c.has_text = false, c.policies = [], c.acl = [], c.since = row.since
MERGE (r)-[:HAS_CHUNK]->(c)
