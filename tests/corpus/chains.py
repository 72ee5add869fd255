"""Chains of run records, as an export holds them, and damages that somebody may do to one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from graphrag_provenance.rules.digests import run_digest

Entry = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]


def chain(length: int) -> list[Entry]:
    """A sound chain."""
    runs: list[Entry] = []
    for seq in range(1, length + 1):
        run: Entry = {
            "seq": seq, "run_id": f"run-{seq}", "trace_id": f"{seq:032x}", "actor": "ann", "kind": "ingest", "pipeline": "p",
            "version": "1", "started_at": f"2026-01-01T00:00:{seq:02}Z", "finished_at": f"2026-01-01T00:01:{seq:02}Z",
            "status": "finished" if seq % 3 else "interrupted", "counts": {"records": {"read": seq, "rejected": 0}},
            "inputs": [{"name": f"f{seq}.jsonl", "bytes": 10, "sha256": "00"}],
            "resumes": None if seq % 4 else seq - 1, "policies_hash": "sha256:aa",
            "graph_hash": f"sha256:{seq:064x}", "previous": runs[-1]["digest"] if runs else None,
        }
        runs.append(sealed(run))
    return runs


def sealed(run: Entry) -> Entry:
    """The run with the digest of what it says."""
    return {**run, "digest": run_digest(run)}


def resealed(runs: list[Entry], start: int) -> list[Entry]:
    """The chain written anew from index `start` on: every digest and every `previous` fits."""
    made = list(runs[:start])
    for run in runs[start:]:
        made.append(sealed({**run, "previous": made[-1]["digest"] if made else None}))
    return made


def store_of(runs: list[Entry]) -> Entry:
    """The store's own record after these runs."""
    return {"head_seq": len(runs), "digest": runs[-1]["digest"] if runs else None}


def independent() -> Any:
    """docs/verify_export.py as a module."""
    spec = importlib.util.spec_from_file_location("verify_export", ROOT / "docs" / "verify_export.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
