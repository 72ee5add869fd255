// entity.aliases — which of some aliases are stored
// access: read
// param ids: list<string>
// returns alias_id
UNWIND $ids AS id
MATCH (n:Alias {alias_id: id})
RETURN n.alias_id AS alias_id
