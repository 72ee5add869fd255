// source.create_chunks — new chunks under their revisions
// access: write
// param rows: list<{props}>
UNWIND $rows AS row
MATCH (r:Revision {tenant: row.props.tenant, doc: row.props.doc})
CREATE (r)-[:HAS_CHUNK]->(n:Chunk)
SET n = row.props
