// source.create_documents — new documents
// access: write
// param rows: list<{props}>
UNWIND $rows AS row
CREATE (n:Document)
SET n = row.props
