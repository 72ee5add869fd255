// entity.create_aliases — new aliases and the entities that they name
// access: write
// param rows: list<{props}>
UNWIND $rows AS row
MATCH (e:Entity {tenant: row.props.tenant, type: row.props.type, id: row.props.id})
CREATE (n:Alias)-[:NAMES]->(e)
SET n = row.props
