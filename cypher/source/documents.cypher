// source.documents — documents by key, as stored
// access: read
// param keys: list<[tenant, doc_id]>
// returns key, node
UNWIND $keys AS key
MATCH (n:Document {tenant: key[0], doc_id: key[1]})
RETURN key, properties(n) AS node
