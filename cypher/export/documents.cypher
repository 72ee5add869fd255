// export.documents — every document that a record or a tombstone is about, with the revisions that decide its head
// access: read
// plan: scan — an export reads everything
// param tenant: string
// param everything: boolean
// returns node, revisions
MATCH (d:Document)
WHERE ($everything OR d.tenant = $tenant) AND (d.registered OR d.tombstones IS NOT NULL)
RETURN d {.*, records: null, digest: null} AS node, [(d)-[:HAS_REVISION]->(r:Revision) WHERE r.registered |
  r {.doc, .effective_at, .supersedes, .complete, arrival: coalesce(r.arrival, r.since)}] AS revisions
