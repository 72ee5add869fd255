// store.migrations — the migrations that were applied
// access: read
// plan: scan — a handful of nodes without an index of their own: the schema may not exist yet
// returns version, name, checksum, applied_at
MATCH (m:Migration)
RETURN m.version AS version, m.name AS name, m.checksum AS checksum, m.applied_at AS applied_at
ORDER BY version
