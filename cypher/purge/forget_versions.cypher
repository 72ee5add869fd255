// purge.forget_versions — remove the texts that past versions of chunks keep
// access: write
// param rows: list<{key, from_run}>
// param seq: integer
UNWIND $rows AS row
MATCH (n:Past {kind: 'chunk', key: row.key, from_run: row.from_run})
WHERE n.text IS NOT NULL
SET n.purged = $seq
REMOVE n.text
