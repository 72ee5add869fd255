// edge.add_evidence — new evidence on known assertions
// access: write
// param rows: list<{tenant, edge_id, doc, chunk, props}>
UNWIND $rows AS row
MATCH (a:Assertion {tenant: row.tenant, edge_id: row.edge_id})
MATCH (c:Chunk {tenant: row.tenant, doc: row.doc, chunk: row.chunk})
CREATE (a)-[v:EVIDENCED_BY]->(c)
SET v = row.props
