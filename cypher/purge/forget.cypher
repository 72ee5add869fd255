// purge.forget — remove the texts of chunks
// access: write
// param keys: list<[tenant, doc, chunk]>
// param seq: integer
UNWIND $keys AS key
MATCH (c:Chunk {tenant: key[0], doc: key[1], chunk: key[2]})
WHERE c.text IS NOT NULL
SET c.purged = $seq
REMOVE c.text
