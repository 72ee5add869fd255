// read.policies — the order of policies by which the store was written
// access: read
// returns policies, policies_hash
MATCH (store:Store {id: 'store'})
RETURN store.policies AS policies, store.policies_hash AS policies_hash
