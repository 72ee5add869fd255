// source.revisions — revisions by key, as stored
// access: read
// param keys: list<[tenant, doc]>
// returns key, node
UNWIND $keys AS key
MATCH (n:Revision {tenant: key[0], doc: key[1]})
RETURN key, properties(n) AS node
