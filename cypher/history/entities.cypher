// history.entities — what entities are now
// access: read
// param questions: list<map>
// returns number, entity
UNWIND $questions AS q
MATCH (n:Entity {tenant: q.tenant, type: q.type, id: q.id})
RETURN q.number AS number, n {.tenant, .type, .id, .name, .policies, .since} AS entity
