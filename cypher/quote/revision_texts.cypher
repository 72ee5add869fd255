// quote.revision_texts — the text of every passage of some revisions, and everything that decides who may read it
// access: read
// param tenant: string
// param docs: list<string>
// returns doc, chunk, text, statements, references, tenants
UNWIND $docs AS doc
MATCH (d:Document)-[:HAS_REVISION]->(v:Revision {tenant: $tenant, doc: doc})-[:HAS_CHUNK]->(c:Chunk)
WHERE c.text IS NOT NULL
RETURN v.doc AS doc, c.chunk AS chunk, c.text AS text,
  coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []) AS statements,
  coalesce(c.acl, []) + coalesce(v.acl, []) AS references, [c.tenant, v.tenant, d.tenant] AS tenants
ORDER BY doc, coalesce(c.ordinal, 0), chunk
