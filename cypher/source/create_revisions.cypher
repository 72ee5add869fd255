// source.create_revisions — new revisions under their documents
// access: write
// param rows: list<{props}>
UNWIND $rows AS row
MATCH (d:Document {tenant: row.props.tenant, doc_id: row.props.doc_id})
CREATE (d)-[:HAS_REVISION]->(n:Revision)
SET n = row.props
