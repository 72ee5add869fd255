"""Faults that are planted on purpose: with each of them the oracle must find differences, else it proves nothing.

A fault changes the text of stored queries in memory, or a rule; nothing is written to disk. `plant` restores everything. Where a
second check stands behind a query (`rules.chains.failures`), the fault comes in two strengths: alone, when it may only cost
answers, and with the second check blind to it, when it would show what is hidden.

    python -m tests.oracle.faults        plants each and prints how many differences there are
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from graphrag_provenance.queries import bounds, catalogue
from graphrag_provenance.rules import chains, publication
from graphrag_provenance.store import assertions, lookups
from tests.oracle.__main__ import opened, say
from tests.oracle.running import Runner
from tests.oracle.worlds import Read

POLICIES = re.compile(r" AND all\(policy IN (r\d?)\.policies WHERE policy IN (?:q\.|\$)allowed\)")
REFERENCES = re.compile(r"\s+AND all\(reference IN (r\d?)\.acl WHERE reference IN (?:q\.|\$)granted\)")
PATHS = ("path.directed", "path.undirected", "path.sequence", "path.sequence_undirected")
SEEDS = (119, 182, 24)


@dataclass(frozen=True)
class Fault:
    """One fault: how stored queries are changed, and what else is."""

    name: str
    queries: tuple[str, ...] = ()
    alter: Callable[[str], str] = str
    patches: tuple[tuple[Any, str, Any], ...] = ()
    loads: bool = False
    """Whether it changes what is loaded, so that the world must be loaded with it."""


def _unfiltered(text: str) -> str:
    """Access is not looked at while the path is looked for; what decides about the ends stays."""
    inside, marks, outside = text.partition("RETURN q.number")
    return REFERENCES.sub("", POLICIES.sub("", inside)) + marks + outside


def _first_hop_of_any_tenant(text: str) -> str:
    inside, marks, outside = text.partition("RETURN q.number")
    if "r1" in inside:
        return inside.replace("r1.tenant = q.tenant AND ", "", 1) + marks + outside
    return inside.replace("r.tenant = q.tenant", "(r.tenant = q.tenant OR r = hops[0])", 1) + marks + outside


def _hidden_middle(text: str) -> str:
    """Only the first and the last hop are filtered."""
    inside, marks, outside = text.partition("RETURN q.number")
    if "r2" in inside:
        lines = [REFERENCES.sub("", POLICIES.sub("", line)) if "/* hop 2 */" in line else line for line in inside.splitlines(keepends=True)]
        return "".join(lines) + marks + outside
    policies = "AND ((r <> hops[0] AND r <> hops[size(hops) - 1]) OR (all(policy IN r.policies WHERE policy IN q.allowed)"
    references = " AND all(reference IN r.acl WHERE reference IN q.granted)))"
    return POLICIES.sub(" " + policies + references, REFERENCES.sub("", inside), count=1) + marks + outside


def _any_reference(text: str) -> str:
    return REFERENCES.sub(lambda m: m[0].replace("all(", f"(size({m[1]}.acl) = 0 OR any(", 1) + ")", text)


def _blind_counts(text: str) -> str:
    """The sub-query that counts looks at every edge."""
    entity, aliases, counts, edges = text.split("CALL (node) {")
    return "CALL (node) {".join((entity, aliases, REFERENCES.sub("", POLICIES.sub("", counts)), edges))


def _without_access(*args: Any, **more: Any) -> Any:
    return tuple(one for one in _failures(*args, **more) if one.constraint not in (chains.Reason.ACCESS, "tenant", "relation", "evidence"))


def _any_granted(step: Any, allowed: Any, granted: frozenset[str], **more: Any) -> bool:
    needed = {*step.edge["acl"], *(key for item in step.evidence for key in item.references)}
    return _permitted(step, allowed, granted | needed if needed & granted else granted, **more)


def _any_may_see(view: Any, edge: Any) -> bool:
    needed = set(edge["acl"])
    return _may_see(replace(view, granted=view.granted | needed) if needed & view.granted else view, edge)


def _lowest(policies: Any, evidence: Any, declared: Any = (), **more: Any) -> Any:
    lowest = min(policies.below, key=lambda name: (len(policies.below[name]), name))

    def known(names: Any) -> tuple[str, ...]:
        return tuple(name if policies.knows(name) else lowest for name in names)

    return _verdict(policies, [item._replace(statements=known(item.statements)) for item in evidence], known(declared), **more)


_failures, _permitted, _may_see, _verdict = chains.failures, chains._permitted, lookups._may_see, publication.verdict
_BLIND = (("graphrag_provenance.store.traces", "failures", _without_access),)
FAULTS = (
    Fault("filter only after assembly", PATHS, _unfiltered),
    Fault("no filter at all", PATHS, _unfiltered, _BLIND),
    Fault("tenant check dropped on one hop", PATHS, _first_hop_of_any_tenant),
    Fault("tenant check dropped on one hop, second check blind", PATHS, _first_hop_of_any_tenant, _BLIND),
    Fault("unknown policy treated as lowest", loads=True, patches=(
        (assertions, "verdict", _lowest), (assertions, "overruled", lambda *_: False))),
    Fault("acl union (any) instead of all", (*PATHS, "path.aliases", "read.edge_show", "read.edge_list", "read.edge_history",
          "read.entity_show", "read.entity_find", "read.entity_alias"), _any_reference,
          ((chains, "_permitted", _any_granted), (lookups, "_may_see", _any_may_see))),
    Fault("counts over invisible edges", ("read.entity_show",), _blind_counts),
    Fault("path through a hidden middle", PATHS, _hidden_middle),
    Fault("path through a hidden middle, second check blind", PATHS, _hidden_middle, _BLIND),
)


@contextmanager
def plant(fault: Fault) -> Iterator[None]:
    """The product with a fault, until the end of the block. Raises AssertionError if the fault changes nothing."""
    stored = catalogue.all_queries()
    kept = {name: stored[name] for name in fault.queries}
    with ExitStack() as stack:
        for where, name, value in fault.patches:
            stack.enter_context(patch(f"{where}.{name}", value) if isinstance(where, str) else patch.object(where, name, value))
        try:
            for name, query in kept.items():
                altered = fault.alter(query.text)
                assert altered != query.text, f"{fault.name} does not change {name}"
                stored[name] = replace(query, text=altered)
            bounds.bounded.cache_clear()
            yield
        finally:
            stored.update(kept)
            bounds.bounded.cache_clear()


def plain(read: Read) -> bool:
    """Whether a read needs no other statement of a path than one: the server takes seconds to plan each that a fault changes."""
    return read.kind != "trace" or (read.asked["directed"] and not read.asked["sequence"] and read.asked["max_hops"] == 4)


def differences(
    runner: Runner, fault: Fault, *, seeds: Sequence[int] = SEEDS, count: int = 150, asks: Callable[[Read], bool] = lambda _: True,
) -> int:
    """How many of some reads differ with a fault: of the first world that shows it, or of all if none does."""
    for seed in seeds:
        if fault.loads:
            runner.built = None
        with ExitStack() as stack:
            if fault.loads:
                stack.enter_context(plant(fault))
            made = runner.built if runner.built is not None and runner.built.seed == seed else runner.build(seed)
            if not fault.loads:
                stack.enter_context(plant(fault))
            before = len(runner.report.differences)
            runner.ask(made, [read for read in runner.reads(made, count) if asks(read)])
        found = len(runner.report.differences) - before
        del runner.report.differences[before:]
        if fault.loads:
            runner.built = None
        if found:
            return found
    return 0


def main() -> int:
    """Plant each fault. Exit code 1 if one of them is not found."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as (database, cypher):
        runner = Runner(database, cypher, Path(folder))
        for fault in (Fault("no fault"), *FAULTS):
            found = differences(runner, fault)
            missed += (found == 0) is (fault.name != "no fault")
            say(f"{fault.name}: {found} differences")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
