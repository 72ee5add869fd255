// history.keep_chunk — what some chunks were until this run, unless the run made them so itself
// access: write
// param rows: list<{key, text}>
// param seq: integer
UNWIND $rows AS row
MATCH (n:Chunk {tenant: row.key[0], doc: row.key[1], chunk: row.key[2]})
WHERE coalesce(n.changed, n.since) <> $seq
CREATE (p:Past)
SET p = properties(n), p.kind = 'chunk', p.key = row.text, p.from_run = coalesce(n.changed, n.since), p.to_run = $seq
REMOVE p.records
