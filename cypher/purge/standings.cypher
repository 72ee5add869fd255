// purge.standings — what some documents were, oldest first
// access: read
// param keys: list<string>
// returns key, past
UNWIND $keys AS key
MATCH (n:Past {kind: 'document', key: key})
WHERE n.from_run > 0
WITH key, n ORDER BY key, n.from_run
RETURN key, n {.from_run, .head, .line, .tombstones} AS past
