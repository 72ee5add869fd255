// import.node_lists — the lists of imported nodes that import files cannot say: empty ones, and those of one empty text (`name=`)
// access: write
// plan: scan — once after an import, over all that was imported
// param marker: string
MATCH (n)
WHERE n[$marker] IS NOT NULL
CALL (n) {
  WITH n, n[$marker] AS names
  FOREACH (name IN names | SET n[replace(name, '=', '')] = CASE WHEN name ENDS WITH '=' THEN [''] ELSE [] END)
  SET n[$marker] = null
} IN TRANSACTIONS OF 10000 ROWS
