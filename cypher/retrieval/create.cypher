// retrieval.create — new recorded retrievals
// access: write
// param rows: list<{props}>
UNWIND $rows AS row
CREATE (n:RecordedRetrieval)
SET n = row.props
