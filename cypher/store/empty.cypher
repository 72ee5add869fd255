// store.empty — whether the database holds nothing but the record of applied migrations
// access: read
// plan: scan — looks for any node at all, and stops at the first
// returns empty
RETURN NOT EXISTS { MATCH (n) WHERE NOT n:Migration } AS empty
