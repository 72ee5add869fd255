// path.audit_directed — for auditors: as path.directed, over edges that the reader may not see
// access: read
// param questions: list<map>
// returns number, chains
UNWIND $questions AS asked WITH asked {.*, at: datetime(asked.at)} AS q
OPTIONAL MATCH (source:Entity {tenant: q.tenant, type: q.source_type, id: q.source_id})
OPTIONAL MATCH (target:Entity {tenant: q.tenant, type: q.target_type, id: q.target_id})
CALL (q, source, target) {
  WITH * WHERE source <> target
  MATCH p = shortestPath((source)-[hops*1..8 /* most hops */]->(target))
  WHERE all(r IN hops WHERE
    r.tenant = q.tenant
    AND size(r.policies) > 0
    AND (q.types IS NULL OR type(r) IN q.types)
    AND (r.current OR NOT q.require_current) AND (NOT r.disputed OR q.allow_disputed)
    AND (q.environment IS NULL OR r.environment IS NULL OR r.environment = q.environment)
    AND (q.region IS NULL OR r.region IS NULL OR r.region = q.region)
    AND (q.at IS NULL OR ((r.valid_from IS NULL OR r.valid_from <= q.at) AND (r.valid_to IS NULL OR q.at < r.valid_to)))
    AND (q.not_environments IS NULL OR r.environment IS NULL OR NOT r.environment IN q.not_environments)
    AND (q.not_regions IS NULL OR r.region IS NULL OR NOT r.region IN q.not_regions))
  UNWIND range(0, size(hops) - 1) AS place
  WITH q, p, place, hops[place] AS r, nodes(p)[place] AS here, startNode(hops[place]) AS tail, endNode(hops[place]) AS tip
  OPTIONAL MATCH (a:Assertion {tenant: q.tenant, edge_id: r.edge_id})
  WITH p, place, {
    edge: properties(r), type: type(r), relation: a.relation, declared: a.declared, attributes: a.attributes,
    forward: tail = here, source: tail {.tenant, .type, .id}, target: tip {.tenant, .type, .id},
    evidence: []
  } AS step ORDER BY place
  WITH p, collect(step) AS steps
  RETURN collect({entities: [n IN nodes(p) | n {.tenant, .type, .id, .name}], steps: steps}) AS chains
}
RETURN q.number AS number, chains
ORDER BY number
