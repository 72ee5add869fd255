// run.terminate — end the transactions of a writer that lost the store: they could not commit, but hold their locks
// access: read
// plan: scan — lists transactions, not data
// param run_id: string
// returns message
SHOW TRANSACTIONS YIELD transactionId AS id, metaData
WHERE metaData.run_id = $run_id
TERMINATE TRANSACTIONS id
YIELD message
RETURN message
