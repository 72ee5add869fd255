// run.lock — the store's state, with the store locked until this transaction ends
// access: write
// param id: string
// returns store, now
MERGE (s:Store {id: $id})
SET s.touched = datetime.realtime()
RETURN properties(s) AS store, datetime.realtime() AS now
