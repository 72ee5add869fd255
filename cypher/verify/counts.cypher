// verify.counts — how many records of each kind there are, from the server's own counts
// access: read
// plan: scan — whole-store counts
// returns documents, revisions, chunks, entities, aliases, edges, relationships, versions, runs
RETURN COUNT { (:Document) } AS documents, COUNT { (:Revision) } AS revisions, COUNT { (:Chunk) } AS chunks,
  COUNT { (:Entity) } AS entities, COUNT { (:Alias) } AS aliases, COUNT { (:Assertion) } AS edges,
  COUNT { (:Entity)-[]->(:Entity) } AS relationships, COUNT { (:Past) } AS versions, COUNT { (:Run) } AS runs
