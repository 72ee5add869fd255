"""The Python API (spec 5): what a program imports from `graphrag_provenance`.

Owns: nothing but its modules: `connecting` (settings to an open store), `store` (the store as a program uses it), `threads` (the same
for asyncio). No rule lives here: each method calls the one function that has it.
"""
