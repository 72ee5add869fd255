// store.state — the store's own record: policies, last run, graph hash; and the server's clock
// access: read
// param id: string
// returns store, now
MATCH (s:Store {id: $id})
RETURN properties(s) AS store, datetime.realtime() AS now
