// V004 — what was merged, found by what stands for it; only merged entities and edges have these properties
CREATE INDEX entity_merged IF NOT EXISTS FOR (n:Entity) ON (n.merged_into);
CREATE INDEX edge_merged IF NOT EXISTS FOR (n:Assertion) ON (n.merged_into);
CREATE INDEX edge_derived IF NOT EXISTS FOR (n:Assertion) ON (n.derived_id);
