"""The store: the only room that talks to Neo4j. One typed function per stored query."""
