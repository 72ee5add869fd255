// read.other_tenants — whether the store holds, or held, anything of another tenant
// access: read
// param tenant: string
// returns others
CALL () {
  MATCH (n:Document) USING INDEX n:Document(tenant, doc_id) WHERE n.tenant < $tenant AND n.doc_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:Document) USING INDEX n:Document(tenant, doc_id) WHERE n.tenant > $tenant AND n.doc_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:Entity) WHERE n.tenant < $tenant AND n.type > '' AND n.id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:Entity) WHERE n.tenant > $tenant AND n.type > '' AND n.id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:Assertion) WHERE n.tenant < $tenant AND n.edge_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:Assertion) WHERE n.tenant > $tenant AND n.edge_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:RecordedAnswer) WHERE n.tenant < $tenant AND n.answer_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:RecordedAnswer) WHERE n.tenant > $tenant AND n.answer_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:RecordedRetrieval) WHERE n.tenant < $tenant AND n.retrieval_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:RecordedRetrieval) WHERE n.tenant > $tenant AND n.retrieval_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:Past) WHERE n.tenant < $tenant AND n.source_type > '' AND n.source_id > '' RETURN 1 AS found LIMIT 1
  UNION ALL
  MATCH (n:Past) WHERE n.tenant > $tenant AND n.source_type > '' AND n.source_id > '' RETURN 1 AS found LIMIT 1
}
RETURN count(found) > 0 AS others
