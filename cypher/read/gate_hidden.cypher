// read.gate_hidden — for auditors: which of some passages and edges exist, whoever may see them
// access: read
// param tenant: string
// param passages: list<map>
// param edges: list<string>
// returns edges, passages
CALL () {
  UNWIND $edges AS edge_id
  MATCH (a:Assertion {tenant: $tenant, edge_id: edge_id})
  WHERE a.state = 'published'
  RETURN collect(a.edge_id) AS edges
}
CALL () {
  UNWIND $passages AS q
  MATCH (c:Chunk {tenant: $tenant, doc: q.doc, chunk: q.chunk})
  RETURN collect([c.doc, c.chunk]) AS passages
}
RETURN edges, passages
