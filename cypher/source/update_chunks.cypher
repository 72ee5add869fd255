// source.update_chunks — changed properties of chunks
// access: write
// param rows: list<{key, changes}>
UNWIND $rows AS row
MATCH (n:Chunk {tenant: row.key[0], doc: row.key[1], chunk: row.key[2]})
SET n += row.changes
