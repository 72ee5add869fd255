"""What is interrupted: a corpus, and the runs of one cycle over it, as commands a person would type.

A cycle ends where it began, so that it can go round: a first record, once; then load, complete new revisions, another order of policies,
merge, delete, and rollback to the first record. What each leaves is the same in every cycle.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.records import Record, chunk, document, edge, entity, registered, revision, write

EDGES = 150
_ORDERS = {
    "first": {"public": [], "internal": ["public"], "confidential": ["internal"]},
    "second": {"public": [], "confidential": ["public"], "internal": ["confidential"], "pubilc": []},
}


@dataclass(frozen=True)
class Deed:
    """One run: the command that does it, and how it is completed after it was cut off."""

    name: str
    command: Sequence[str]
    kind: str
    """Of its run record."""
    resumable: bool = False
    """Completed with `--resume RUN`; else by the same command again."""

    def completion(self, cut_off: int | None) -> list[str]:
        """The command that completes it; `cut_off`: the run that did not end, if it began."""
        return [*self.command, *(["--resume", str(cut_off)] if self.resumable and cut_off is not None else [])]


def records() -> list[Record]:
    """Edges that share evidence; one document's policy is unknown, so its edges are withheld."""
    found: list[Record] = []
    for n in range(8):
        found += registered(f"d{n}@1#c0", ("public", "internal", "confidential", "pubilc")[n % 4])
    found += [entity(f"System:S{n}", attributes={"tier": n}) for n in range(20)]
    for n in range(EDGES):
        found.append(edge(f"System:S{n % 40}", "depends_on", f"System:S{(n * 7 + 1) % 50}", f"d{n % 8}@1#c0", f"d{n % 5}@1#extra",
                          edge_id=f"E{n}", policy="internal"))
    return found


def renewed() -> list[Record]:
    """Two complete new revisions: one edge in three of theirs is found again."""
    found: list[Record] = []
    for n in (1, 2):
        found += [document(f"d{n}"), revision(f"d{n}@2", complete=True, effective_at="2026-02-01T00:00:00Z"), chunk(f"d{n}@2", "c0")]
        found += [edge(f"System:S{e % 40}", "depends_on", f"System:S{(e * 7 + 1) % 50}", f"d{n}@2#c0", edge_id=f"E{e}", policy="internal")
                  for e in range(0, EDGES, 3) if n in (e % 8, e % 5)]
    return found


def beginning(folder: Path) -> Deed:
    """The run to which each cycle goes back."""
    only = write(folder / "beginning.jsonl", [entity("System:S0", attributes={"tier": 0})])
    return Deed("beginning", ("ingest", str(only), "--policies", str(policy_file(folder / "first.toml"))), "ingest")


def cycle(folder: Path, first_run: int) -> list[Deed]:
    """The runs of a cycle. `first_run`: the number of the run of `beginning`."""
    order = policy_file(folder / "second.toml", "second")
    first, second = write(folder / "first.jsonl", records()), write(folder / "second.jsonl", renewed())
    small = ("--batch-size", "10", "--rejects", str(folder / "rejects.jsonl"))
    return [
        Deed("load", ("ingest", str(first), *small), "ingest", resumable=True),
        Deed("renew", ("ingest", str(second), *small), "ingest", resumable=True),
        Deed("apply", ("policy", "apply", str(order), "--batch-size", "10"), "policy-apply"),
        Deed("merge", ("entity", "merge", "System:S1", "System:S2", "--tenant", "ACME"), "entity-merge"),
        Deed("delete", ("doc", "delete", "d3", "--tenant", "ACME"), "doc-delete"),
        Deed("rollback", ("run", "rollback", "--to", str(first_run)), "rollback"),
    ]


def policy_file(path: Path, order: str = "first") -> Path:
    """One of the two orders."""
    lines = ["schema = 1"]
    for name, above in _ORDERS[order].items():
        lines += [f"[policies.{name}]", f"above = {json.dumps(above)}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path

