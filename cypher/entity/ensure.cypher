// entity.ensure — entities that edges name and no record declares; the id stands as name
// access: write
// param rows: list<[tenant, type, id]>
// param since: integer
// returns created
UNWIND $rows AS row
MERGE (n:Entity {tenant: row[0], type: row[1], id: row[2]})
  ON CREATE SET n:$(row[1]), n.name = row[2], n.names = [], n.policies = [], n.declared = false, n.since = $since, n.fresh = true
WITH n WHERE n.fresh
REMOVE n.fresh
RETURN count(n) AS created
