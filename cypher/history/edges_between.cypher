// history.edges_between — what some edges were after one run and after another, what they are, and how much evidence came and went
// access: read
// param edges: list<{tenant, edge_id, key}>
// param before: integer
// param after: integer
// returns assertion, came, went, before, after
UNWIND $edges AS one
MATCH (a:Assertion {tenant: one.tenant, edge_id: one.edge_id})
OPTIONAL MATCH (p:Past {kind: 'assertion', key: one.key})
WHERE p.from_run <= $before AND p.to_run > $before
OPTIONAL MATCH (q:Past {kind: 'assertion', key: one.key})
WHERE q.from_run <= $after AND q.to_run > $after
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(:Chunk)
  WITH e.since <= $before AND coalesce(e.until > $before, true) AS was, e.since <= $after AND coalesce(e.until > $after, true) AS is
  RETURN count(CASE WHEN is AND NOT was THEN 1 END) AS came, count(CASE WHEN was AND NOT is THEN 1 END) AS went
}
RETURN properties(a) AS assertion, came, went,
  CASE WHEN a.changed <= $before THEN properties(a) ELSE properties(p) END AS before,
  CASE WHEN a.changed <= $after THEN properties(a) ELSE properties(q) END AS after
