// answer.states — for auditors and operators: the present state of edges by id, published or not, and their active citations
// access: read
// param tenant: string
// param edge_ids: list<string>
// returns assertion, active
UNWIND $edge_ids AS edge_id
MATCH (a:Assertion {tenant: $tenant, edge_id: edge_id})
CALL (a) {
  MATCH (a)-[e:EVIDENCED_BY]->(c:Chunk)
  WHERE e.until IS NULL
  RETURN collect({doc: c.doc, chunk: c.chunk, span: e.span, quote_hash: e.quote_hash, polarity: e.polarity, since: e.since}) AS active
}
RETURN properties(a) AS assertion, active
