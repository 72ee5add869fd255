// verify.schema — the indexes that work, and which of them stand for a constraint
// access: read
// plan: scan — lists the schema, not data
// returns name, constraint
SHOW INDEXES YIELD name, state, owningConstraint
WHERE state = 'ONLINE'
RETURN name, owningConstraint IS NOT NULL AS constraint
