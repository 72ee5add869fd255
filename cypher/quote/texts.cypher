// quote.texts — the text of passages by key, and everything that decides who may read it
// access: read
// param keys: list<[tenant, doc, chunk]>
// returns key, text, statements, references, tenants
UNWIND $keys AS key
MATCH (c:Chunk {tenant: key[0], doc: key[1], chunk: key[2]})<-[:HAS_CHUNK]-(v:Revision)<-[:HAS_REVISION]-(d:Document)
RETURN key, c.text AS text,
  coalesce(c.policies, []) + coalesce(v.policies, []) + coalesce(d.policies, []) AS statements,
  coalesce(c.acl, []) + coalesce(v.acl, []) AS references, [c.tenant, v.tenant, d.tenant] AS tenants
