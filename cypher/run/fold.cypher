// run.fold — take the deltas of a run out of the store, to be summed up
// access: write
// param seq: integer
// returns sum
MATCH (d:Delta {seq: $seq})
WITH d, d.sum AS sum
DELETE d
RETURN sum
