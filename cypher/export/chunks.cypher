// export.chunks — every declared chunk with its text
// access: read
// plan: scan — an export reads everything
// param tenant: string
// param everything: boolean
// returns node
MATCH (c:Chunk)
WHERE ($everything OR c.tenant = $tenant) AND c.registered
RETURN c {.*, records: null, digest: null} AS node
