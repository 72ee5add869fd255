// edge.move_evidence — ends of evidence intervals, by relationship as read in the same transaction
// access: write
// param rows: list<{id, since, until, dropped}>
UNWIND $rows AS row
MATCH ()-[v:EVIDENCED_BY]->() WHERE elementId(v) = row.id
SET v.since = row.since, v.until = row.until, v.dropped = row.dropped
