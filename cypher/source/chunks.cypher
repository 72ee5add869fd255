// source.chunks — chunks by key, as stored, without their text
// access: read
// param keys: list<[tenant, doc, chunk]>
// returns key, node
UNWIND $keys AS key
MATCH (n:Chunk {tenant: key[0], doc: key[1], chunk: key[2]})
RETURN key, n {.*, text: null} AS node
