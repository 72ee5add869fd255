// store.record_migration — note that a migration was applied
// access: write
// plan: scan — a handful of nodes without an index of their own: the schema may not exist yet
// param version: integer
// param name: string
// param checksum: string
MERGE (m:Migration {version: $version})
SET m.name = $name, m.checksum = $checksum, m.applied_at = datetime()
