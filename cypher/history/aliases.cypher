// history.aliases — aliases by id, as stored
// access: read
// param ids: list<string>
// returns node
UNWIND $ids AS id
MATCH (n:Alias {alias_id: id})
RETURN properties(n) AS node
