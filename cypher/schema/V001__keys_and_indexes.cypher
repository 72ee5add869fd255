// V001 — one unique key a kind, and an index for each look-up that a stored query makes
CREATE CONSTRAINT store_id IF NOT EXISTS FOR (n:Store) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT run_seq IF NOT EXISTS FOR (n:Run) REQUIRE n.seq IS UNIQUE;
CREATE CONSTRAINT document_key IF NOT EXISTS FOR (n:Document) REQUIRE (n.tenant, n.doc_id) IS UNIQUE;
CREATE CONSTRAINT revision_key IF NOT EXISTS FOR (n:Revision) REQUIRE (n.tenant, n.doc) IS UNIQUE;
CREATE CONSTRAINT chunk_key IF NOT EXISTS FOR (n:Chunk) REQUIRE (n.tenant, n.doc, n.chunk) IS UNIQUE;
CREATE CONSTRAINT entity_key IF NOT EXISTS FOR (n:Entity) REQUIRE (n.tenant, n.type, n.id) IS UNIQUE;
CREATE CONSTRAINT alias_id IF NOT EXISTS FOR (n:Alias) REQUIRE n.alias_id IS UNIQUE;
CREATE CONSTRAINT assertion_key IF NOT EXISTS FOR (n:Assertion) REQUIRE (n.tenant, n.edge_id) IS UNIQUE;
CREATE INDEX alias_lookup IF NOT EXISTS FOR (n:Alias) ON (n.tenant, n.lookup);
CREATE INDEX document_anywhere IF NOT EXISTS FOR (n:Document) ON (n.doc_id);
CREATE INDEX delta_run IF NOT EXISTS FOR (n:Delta) ON (n.seq);
CREATE INDEX withheld_edge IF NOT EXISTS FOR (n:Withheld) ON (n.tenant, n.edge_id);
CREATE FULLTEXT INDEX entity_names IF NOT EXISTS FOR (n:Entity) ON EACH [n.names, n.id]
  OPTIONS { indexConfig: { `fulltext.eventually_consistent`: true } };
