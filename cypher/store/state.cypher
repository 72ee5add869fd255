// store.state — the store's own record: policies, last run, graph hash
// access: read
// param id: string
// returns store
MATCH (s:Store {id: $id})
RETURN properties(s) AS store
