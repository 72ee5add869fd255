// V002 — what records were before a run changed them
CREATE CONSTRAINT past_key IF NOT EXISTS FOR (n:Past) REQUIRE (n.kind, n.key, n.from_run) IS UNIQUE;
CREATE INDEX past_ended IF NOT EXISTS FOR (n:Past) ON (n.to_run);
CREATE INDEX past_source IF NOT EXISTS FOR (n:Past) ON (n.tenant, n.source_type, n.source_id);
CREATE INDEX past_target IF NOT EXISTS FOR (n:Past) ON (n.tenant, n.target_type, n.target_id);
CREATE INDEX past_lookup IF NOT EXISTS FOR (n:Past) ON (n.tenant, n.lookup);
