// history.drop_aliases — delete aliases; what they were is kept
// access: write
// param ids: list<string>
UNWIND $ids AS id
MATCH (n:Alias {alias_id: id})
DETACH DELETE n
