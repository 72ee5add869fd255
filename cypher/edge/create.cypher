// edge.create — new assertions with their evidence
// access: write
// param rows: list<{props, evidence: list<[doc, chunk, props]>}>
UNWIND $rows AS row
CREATE (a:Assertion)
SET a = row.props
WITH a, row
UNWIND row.evidence AS item
MATCH (c:Chunk {tenant: row.props.tenant, doc: item[0], chunk: item[1]})
CREATE (a)-[v:EVIDENCED_BY]->(c)
SET v = item[2]
