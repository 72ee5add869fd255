// read.rivals — the visible current edges of one relation at an entity, in either direction
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param ends: list<map>
// returns number, edge, type, source, target, policies_hash
UNWIND $ends AS q
MATCH (store:Store {id: 'store'})
MATCH (node:Entity {tenant: $tenant, type: q.type, id: q.id})
MATCH (node)-[r:$(q.relation)]-(:Entity)
WHERE r.tenant = $tenant AND r.current
  AND size(r.policies) > 0 AND all(policy IN r.policies WHERE policy IN $allowed)
  AND all(reference IN r.acl WHERE reference IN $granted)
WITH DISTINCT q, store, r, startNode(r) AS tail, endNode(r) AS tip
RETURN q.number AS number, properties(r) AS edge, type(r) AS type,
  tail {.tenant, .type, .id} AS source, tip {.tenant, .type, .id} AS target,
  store.policies_hash + coalesce(' ' + store.policies_next, '') AS policies_hash
ORDER BY number, edge.edge_id
