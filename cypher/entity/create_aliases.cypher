// entity.create_aliases — aliases and the entities that they name; returns those that did not exist
// access: write
// param rows: list<{props}>
// returns alias_id
UNWIND $rows AS row
MATCH (e:Entity {tenant: row.props.tenant, type: row.props.type, id: row.props.id})
MERGE (n:Alias {alias_id: row.props.alias_id})
  ON CREATE SET n = row.props, n.fresh = true
WITH row, e, n WHERE n.fresh
CREATE (n)-[:NAMES]->(e)
REMOVE n.fresh
RETURN row.props.alias_id AS alias_id
