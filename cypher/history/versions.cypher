// history.versions — what some records were after a run, where they changed since
// access: read
// param questions: list<map>
// returns number, past
UNWIND $questions AS q
MATCH (n:Past {kind: q.kind, key: q.key})
WHERE n.from_run <= q.seq AND n.to_run > q.seq
RETURN q.number AS number, properties(n) AS past
