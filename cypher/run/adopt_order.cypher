// run.adopt_order — the store's order of policies becomes another one, together with what the same transaction writes
// access: write
// param id: string
// param seq: integer
// param policies: string
// param policies_hash: string
MATCH (s:Store {id: $id})
MATCH (r:Run {seq: $seq})
SET s.policies = $policies, s.policies_hash = $policies_hash, s.policies_next = null, r.order = $policies,
  r.policies_hash = $policies_hash
