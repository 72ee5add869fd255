// verify.deltas — changes of the graph hash that are not folded into the store yet
// access: read
// plan: scan — reads every delta, a run leaves none when it has ended
// returns seq, sum
MATCH (d:Delta)
RETURN d.seq AS seq, d.sum AS sum
