// source.update_revisions — changed properties of revisions
// access: write
// param rows: list<{key, changes}>
UNWIND $rows AS row
MATCH (n:Revision {tenant: row.key[0], doc: row.key[1]})
SET n += row.changes
