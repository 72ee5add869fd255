// export.revisions — every declared revision
// access: read
// plan: scan — an export reads everything
// param tenant: string
// param everything: boolean
// returns node
MATCH (r:Revision)
WHERE ($everything OR r.tenant = $tenant) AND r.registered
RETURN r {.*, records: null, digest: null} AS node
