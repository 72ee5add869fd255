// verify.recording_runs — what the runs that recorded answers or retrievals say of them
// access: read
// plan: scan — verification reads every run anyway
// returns seq, kind, status, counts
MATCH (r:Run)
WHERE r.kind IN ['answer', 'retrieval']
RETURN r.seq AS seq, r.kind AS kind, r.status AS status, r.counts AS counts
