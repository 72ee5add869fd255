// source.in_other_tenant — which of some document ids are declared in another tenant
// access: read
// param keys: list<[tenant, doc_id]>
// returns key
UNWIND $keys AS key
MATCH (d:Document {doc_id: key[1]})
WHERE d.tenant <> key[0] AND d.registered
RETURN DISTINCT key
