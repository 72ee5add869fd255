// history.names — the ids that a name reached after a run, and how it was linked
// access: read
// param questions: list<map>
// returns number, id, method
UNWIND $questions AS q
CALL (q) {
  MATCH (n:Alias {tenant: q.tenant, lookup: q.lookup})
  WHERE n.type = q.type AND n.since <= q.seq
  RETURN n.id AS id, n.method AS method
UNION
  MATCH (n:Past {tenant: q.tenant, lookup: q.lookup})
  USING INDEX SEEK n:Past(tenant, lookup)
  WHERE n.kind = 'alias' AND n.type = q.type AND n.from_run <= q.seq AND n.to_run > q.seq
  RETURN n.id AS id, n.method AS method
}
RETURN q.number AS number, id, method ORDER BY number, id
