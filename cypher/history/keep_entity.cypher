// history.keep_entity — what some entities were until this run, unless the run made them so itself
// access: write
// param rows: list<{key, text}>
// param seq: integer
UNWIND $rows AS row
MATCH (n:Entity {tenant: row.key[0], type: row.key[1], id: row.key[2]})
WHERE coalesce(n.changed, n.since) <> $seq
CREATE (p:Past)
SET p = properties(n), p.kind = 'entity', p.key = row.text, p.from_run = coalesce(n.changed, n.since), p.to_run = $seq
REMOVE p.records
