// verify.state — the store's own record, and how many changes of the graph hash are not folded into it yet
// access: read
// plan: scan — one node, and a count; a second store record must be seen too
// returns stores, deltas
OPTIONAL MATCH (s:Store)
WITH collect(properties(s)) AS stores
RETURN stores, COUNT { (:Delta) } AS deltas
