// edge.update — the new state of known assertions
// access: write
// param rows: list<{props}>
UNWIND $rows AS row
MATCH (a:Assertion {tenant: row.props.tenant, edge_id: row.props.edge_id})
SET a = row.props
