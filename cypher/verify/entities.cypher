// verify.entities — every entity with its labels
// access: read
// plan: scan — verification reads everything
// returns node, labels
MATCH (e:Entity)
RETURN properties(e) AS node, labels(e) AS labels
