// verify.documents — every document with the revisions that decide its head
// access: read
// plan: scan — verification reads everything
// returns node, revisions
MATCH (d:Document)
RETURN properties(d) AS node, [(d)-[:HAS_REVISION]->(r:Revision) |
  r {.tenant, .doc, .effective_at, .supersedes, .registered, .complete, arrival: coalesce(r.arrival, r.since)}] AS revisions
