// purge.texts — past versions of chunks that keep a text
// access: read
// param keys: list<string>
// returns key, from_run
UNWIND $keys AS key
MATCH (n:Past {kind: 'chunk', key: key})
WHERE n.from_run > 0 AND n.text IS NOT NULL
RETURN key, n.from_run AS from_run
