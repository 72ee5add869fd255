// entity.merged — every entity that was merged, and the id of the one that it was merged into
// access: read
// returns tenant, type, id, into
MATCH (n:Entity)
WHERE n.merged_into > ''
RETURN n.tenant AS tenant, n.type AS type, n.id AS id, n.merged_into AS into
