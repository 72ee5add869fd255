// run.end — a run has ended and lets the store go
// access: write
// param id: string
// param seq: integer
// param store: map
// param run: map
MATCH (s:Store {id: $id})
MATCH (r:Run {seq: $seq})
SET s += $store, r += $run
