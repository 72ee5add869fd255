"""Stored Cypher: every statement the product sends is a file below `cypher/` (style: stored Cypher)."""

from graphrag_provenance.queries.catalogue import Access, Query, all_queries, parse_query, query

__all__ = ["Access", "Query", "all_queries", "parse_query", "query"]
