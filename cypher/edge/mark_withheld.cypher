// edge.mark_withheld — label the assertions that are withheld, so that they can be listed
// access: write
// param keys: list<[tenant, edge_id]>
UNWIND $keys AS key
MATCH (a:Assertion {tenant: key[0], edge_id: key[1]})
SET a:Withheld
