// verify.revisions — every revision with the keys of the documents it hangs under
// access: read
// plan: scan — verification reads everything
// returns node, parents
MATCH (r:Revision)
RETURN properties(r) AS node, [(d:Document)-[:HAS_REVISION]->(r) | [d.tenant, d.doc_id]] AS parents
