"""Retrievers for frameworks, each an optional extra: neo4j-graphrag, LangChain, LlamaIndex (spec 5).

Each module is one adapter and needs the package of its framework; `retrieving` is what they share.
"""
