// run.begin — a new run takes the store
// access: write
// param id: string
// param store: map
// param run: map
MATCH (s:Store {id: $id})
SET s += $store
CREATE (r:Run)
SET r = $run
