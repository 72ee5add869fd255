// source.update_documents — changed properties of documents
// access: write
// param rows: list<{key, changes}>
UNWIND $rows AS row
MATCH (n:Document {tenant: row.key[0], doc_id: row.key[1]})
SET n += row.changes
