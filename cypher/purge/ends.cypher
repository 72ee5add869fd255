// purge.ends — when some runs ended
// access: read
// param seqs: list<integer>
// returns seq, at
UNWIND $seqs AS seq
MATCH (r:Run {seq: seq})
RETURN seq, coalesce(r.finished_at, r.started_at) AS at
