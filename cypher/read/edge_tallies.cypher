// read.edge_tallies — how much active evidence some visible edges have
// access: read
// param tenant: string
// param allowed: list<string>
// param granted: list<string>
// param edge_ids: list<string>
// returns assertion, supports, refutes
UNWIND $edge_ids AS edge_id
MATCH (a:Assertion {tenant: $tenant, edge_id: edge_id})
WHERE a.state = 'published'
  AND size(a.policies) > 0 AND all(policy IN a.policies WHERE policy IN $allowed)
  AND all(reference IN a.acl WHERE reference IN $granted)
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(:Chunk)
  WHERE e.until IS NULL
  RETURN count(CASE e.polarity WHEN 'refutes' THEN null ELSE 1 END) AS supports,
    count(CASE e.polarity WHEN 'refutes' THEN 1 END) AS refutes
}
RETURN a {.tenant, .edge_id, .policies, .acl} AS assertion, supports, refutes
