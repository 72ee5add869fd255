"""Which modules and stored queries make up a room, and which tests are to notice a fault in each.

First come the unit and property tests that import the module, then what THEN names: whole reads on a real server.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOMS = {
    "rules": ("graphrag_provenance/rules/*.py",),
    "access": ("graphrag_provenance/access/*.py",),
    "model": ("graphrag_provenance/model/*.py",),
    "read": tuple(f"graphrag_provenance/store/{name}.py" for name in (
        "traces", "lookups", "readers", "together", "view", "surroundings", "documents", "answers", "gate", "retrievals", "as_of",
        "conflicts", "seeing", "page_lookups", "passages", "quotes", "explaining")),
    "paths": ("cypher/path/*.cypher",),
    "reads": ("cypher/read/*.cypher", "cypher/answer/*.cypher", "cypher/retrieval/*.cypher", "cypher/quote/*.cypher"),
}
_SERVED = re.compile(r"\b(fresh_database|database: Database|server: |cypher: )")
TRACE, LOOKUPS, ACCESS = "integration/test_trace.py", "integration/test_lookups.py", "integration/test_access_reads.py"
VERIFY, AUDIT, INGEST = "integration/test_verify.py", "integration/test_audit.py", "integration/test_ingest_standard.py"
ANSWERS, STAGING, MERGE = "integration/test_recorded_answers.py", "integration/test_staging.py", "integration/test_entity_merge.py"
GATE, DOCUMENTS, RETRIEVERS = "integration/test_gate.py", "integration/test_documents.py", "integration/test_retrievers.py"
RETRIEVALS, CONFLICTS = "integration/test_recorded_retrievals.py", "integration/test_conflicts.py"
POLICY = "integration/test_policy_apply.py"
QUOTES, PURGE, DELETE = "integration/test_quote_verification.py", "integration/test_doc_purge.py", "integration/test_doc_delete.py"
PAGES = "integration/test_web_pages.py"
FGA, EVALUATION, SUCCESSION = "integration/test_access_openfga.py", "integration/test_evaluation.py", "integration/test_succession.py"
MERGED, LINEAGE = "integration/test_merged_edges.py", "integration/test_export_openlineage.py"
STORED = "integration/test_stored_reads.py"

THEN = {
    "rules/answers": (TRACE, GATE), "rules/audit_report": (AUDIT,), "rules/auditing": (AUDIT,), "rules/chains": (TRACE, ACCESS, MERGE),
    "rules/claims": (TRACE, EVALUATION), "rules/conflicts": (CONFLICTS,), "rules/context": (RETRIEVERS,), "rules/digests": (AUDIT, INGEST),
    "rules/document_diff": (DOCUMENTS,), "rules/edges": (INGEST, MERGE), "rules/evaluation": (EVALUATION,),
    "rules/fingerprints": (INGEST, STAGING), "rules/gate": (GATE,), "rules/golden": (TRACE,), "rules/heads": (SUCCESSION, DOCUMENTS),
    "rules/history": (VERIFY, "integration/test_rollback.py", MERGE), "rules/incidents": (EVALUATION,), "rules/invariants": (VERIFY,),
    "rules/joining": (POLICY, ACCESS), "rules/ledger": (GATE,), "rules/merging": (MERGE,), "rules/naming": (RETRIEVERS,),
    "rules/opening": (POLICY, DELETE), "rules/policies": (INGEST, POLICY), "rules/publication": (INGEST, VERIFY),
    "rules/quotes": (QUOTES,), "rules/receipts": (DELETE,), "rules/reconciling": (VERIFY,), "rules/recorded": (ANSWERS, RETRIEVALS, VERIFY),
    "rules/rejects": ("integration/test_ingest_bad_input.py",), "rules/relations": (INGEST, CONFLICTS), "rules/retention": (PURGE,),
    "rules/run_diff": (STAGING,), "rules/soundness": (VERIFY, "integration/test_verify_history.py", STAGING, MERGE),
    "rules/statements": (INGEST, DOCUMENTS, MERGE), "rules/telling": (RETRIEVERS,),
    "access/": (ACCESS, FGA, "integration/test_access_commands.py"),
    "model/lineage": (LINEAGE,), "model/readers": (LOOKUPS, "e2e/test_cli_store.py"), "model/reports": (ANSWERS, QUOTES),
    "model/": (INGEST, LOOKUPS),
    "store/traces": (TRACE, ACCESS, MERGE, STAGING), "store/lookups": (LOOKUPS, STORED, MERGED, ACCESS), "store/readers": (ACCESS, LOOKUPS),
    "store/together": ("integration/test_service_together.py", EVALUATION, TRACE), "store/view": (TRACE, STAGING, SUCCESSION),
    "store/surroundings": (STORED, RETRIEVERS), "store/documents": (DOCUMENTS, ACCESS), "store/answers": (STORED, ANSWERS, MERGED),
    "store/gate": (STORED, GATE, MERGED), "store/retrievals": (RETRIEVALS,), "store/as_of": (TRACE, MERGE, STAGING, SUCCESSION),
    "store/conflicts": (STORED, CONFLICTS, GATE), "store/seeing": (ANSWERS, RETRIEVALS), "store/page_lookups": (PAGES,),
    "store/passages": (GATE, RETRIEVALS, RETRIEVERS), "store/quotes": (STORED, QUOTES), "store/explaining": (ACCESS, POLICY),
    "path/": (TRACE, ACCESS), "answer/": (STORED, ANSWERS), "retrieval/": (STORED, RETRIEVALS), "quote/": (STORED, QUOTES),
    "read/around": (STORED, RETRIEVERS), "read/document": (STORED, DOCUMENTS, ACCESS), "read/edge_merged": (MERGED,),
    "read/edge_": (STORED, LOOKUPS, ACCESS, MERGED), "read/entities_": (STORED, RETRIEVERS), "read/entity_": (STORED, LOOKUPS, ACCESS),
    "read/gate_": (STORED, GATE), "read/polic": (ACCESS, POLICY), "read/references": (ACCESS, FGA),
    "read/rivals": (STORED, CONFLICTS, GATE),
    "read/runs": ("integration/test_staging.py", PAGES),
}


def files(root: Path, room: str) -> list[str]:
    """The files of a room, or those that a pattern names."""
    patterns = ROOMS.get(room, (room,))
    return sorted(path.relative_to(root).as_posix() for pattern in patterns for path in root.glob(pattern) if path.name != "__init__.py")


@cache
def at_once(root: Path, file: str) -> tuple[str, ...]:
    """The tests without a server that import a module, unit tests first."""
    *_, room, module = Path(file).with_suffix("").parts
    pattern = re.compile(rf"^from graphrag_provenance\.{room}(\.{module}\b| import .*\b{module}\b)", re.MULTILINE)
    found = []
    for path in (*sorted((root / "tests" / "unit").glob("test_*.py")), *sorted((root / "tests" / "property").glob("test_*.py"))):
        text = path.read_text(encoding="utf-8")
        if pattern.search(text) and not _SERVED.search(text):
            found.append(path.relative_to(root / "tests").as_posix())
    return tuple(found)


def with_server(file: str) -> tuple[str, ...]:
    """The tests with a server, from the longest name in THEN that fits."""
    name = "/".join(Path(file).with_suffix("").parts[-2:])
    fitting = [key for key in THEN if name.startswith(key)]
    return THEN[max(fitting, key=len)] if fitting else ()
