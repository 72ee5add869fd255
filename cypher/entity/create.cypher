// entity.create — new entities
// access: write
// param rows: list<{props}>
UNWIND $rows AS row
CREATE (n:Entity:$(row.props.type))
SET n = row.props
