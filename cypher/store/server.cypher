// store.server — version and edition of the server
// access: read
// returns version, edition
CALL dbms.components() YIELD name, versions, edition
WITH name, versions, edition WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition
