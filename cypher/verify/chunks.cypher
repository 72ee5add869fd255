// verify.chunks — every chunk with the keys of the revisions it hangs under
// access: read
// plan: scan — verification reads everything
// returns node, parents
MATCH (c:Chunk)
RETURN properties(c) AS node, [(r:Revision)-[:HAS_CHUNK]->(c) | [r.tenant, r.doc]] AS parents
