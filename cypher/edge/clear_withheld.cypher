// edge.clear_withheld — take the label off the assertions that are withheld no longer
// access: write
// param keys: list<[tenant, edge_id]>
UNWIND $keys AS key
MATCH (a:Withheld {tenant: key[0], edge_id: key[1]})
REMOVE a:Withheld
