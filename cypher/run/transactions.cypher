// run.transactions — transactions of a writer that are still under way
// access: read
// plan: scan — lists transactions, not data
// param run_id: string
// returns id
SHOW TRANSACTIONS YIELD transactionId, metaData
WHERE metaData.run_id = $run_id
RETURN transactionId AS id
