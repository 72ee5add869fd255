// history.keep_assertion — what some edges were until this run, unless the run made them so itself
// access: write
// param rows: list<{key, text}>
// param seq: integer
UNWIND $rows AS row
MATCH (n:Assertion {tenant: row.key[0], edge_id: row.key[1]})
WHERE coalesce(n.changed, n.since) <> $seq
CREATE (p:Past)
SET p = properties(n), p.kind = 'assertion', p.key = row.text, p.from_run = coalesce(n.changed, n.since), p.to_run = $seq
REMOVE p.records
