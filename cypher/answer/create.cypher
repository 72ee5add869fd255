// answer.create — new recorded answers, and the edges that each rests on
// access: write
// param rows: list<{props, edge_ids}>
UNWIND $rows AS row
CREATE (n:RecordedAnswer)
SET n = row.props
WITH n, row
UNWIND row.edge_ids AS edge_id
CREATE (n)-[:HAS_RECORDED_STEP]->(:RecordedStep {tenant: row.props.tenant, answer_id: row.props.answer_id, edge_id: edge_id})
