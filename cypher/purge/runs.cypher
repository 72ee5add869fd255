// purge.runs — what the purges after a run counted
// access: read
// param seq: integer
// returns counts
MATCH (r:Run)
WHERE r.seq > $seq AND r.kind = 'doc-purge'
RETURN r.counts AS counts
