// history.keep_alias — what some aliases were until this run, unless the run made them so itself
// access: write
// param rows: list<{key, text}>
// param seq: integer
UNWIND $rows AS row
MATCH (n:Alias {alias_id: row.key[0]})
WHERE coalesce(n.changed, n.since) <> $seq
CREATE (p:Past)
SET p = properties(n), p.kind = 'alias', p.key = row.text, p.from_run = coalesce(n.changed, n.since), p.to_run = $seq
REMOVE p.records
