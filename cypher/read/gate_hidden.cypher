// read.gate_hidden — for auditors: which of some passages and edges exist, whoever may see them
// access: read
// param tenant: string
// param passages: list<map>
// param edges: list<string>
// returns edge_id, doc, chunk
UNWIND $edges AS edge_id
MATCH (a:Assertion {tenant: $tenant, edge_id: edge_id})
WHERE a.state = 'published'
RETURN a.edge_id AS edge_id, null AS doc, null AS chunk
UNION ALL
UNWIND $passages AS q
MATCH (c:Chunk {tenant: $tenant, doc: q.doc, chunk: q.chunk})
RETURN null AS edge_id, c.doc AS doc, c.chunk AS chunk
