// V003 — what programs report of their answers and retrievals; chunks by point id; aliases by linker
CREATE CONSTRAINT recorded_answer_key IF NOT EXISTS FOR (n:RecordedAnswer) REQUIRE (n.tenant, n.answer_id) IS UNIQUE;
CREATE INDEX recorded_step_edge IF NOT EXISTS FOR (n:RecordedStep) ON (n.tenant, n.edge_id);
CREATE CONSTRAINT recorded_retrieval_key IF NOT EXISTS FOR (n:RecordedRetrieval) REQUIRE (n.tenant, n.retrieval_id) IS UNIQUE;
CREATE INDEX recorded_retrieval_trace IF NOT EXISTS FOR (n:RecordedRetrieval) ON (n.tenant, n.trace_id);
CREATE INDEX chunk_point IF NOT EXISTS FOR (n:Chunk) ON (n.tenant, n.point_id);
CREATE INDEX alias_linker IF NOT EXISTS FOR (n:Alias) ON (n.tenant, n.linker);
