// purge.passages — the chunks of some revisions: whether each has a text, since when, and whether evidence in force cites it
// access: read
// param tenant: string
// param docs: list<string>
// returns doc, chunk, has_text, arrived, in_use
UNWIND $docs AS doc
MATCH (:Revision {tenant: $tenant, doc: doc})-[:HAS_CHUNK]->(c:Chunk)
RETURN doc, c.chunk AS chunk, c.text IS NOT NULL AS has_text, coalesce(c.stated, c.since) AS arrived,
  EXISTS { MATCH (c)<-[v:EVIDENCED_BY]-(:Assertion) WHERE v.until IS NULL } AS in_use
ORDER BY doc, chunk
