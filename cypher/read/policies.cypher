// read.policies — the orders of policies under which the edges stand: the store's, and those of a change under way
// access: read
// returns policies, policies_next, policies_hash
MATCH (store:Store {id: 'store'})
RETURN store.policies AS policies, store.policies_next AS policies_next,
  store.policies_hash + coalesce(' ' + store.policies_next, '') AS policies_hash
