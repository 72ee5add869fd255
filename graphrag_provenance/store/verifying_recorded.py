"""Whether recorded answers and retrievals are what was recorded (spec 1, invariant 5; spec 4).

Owns: that each record has the digest of its content, that the steps beside an answer are those of its claims, and that each
finished run that recorded something accounts for exactly what is there. A run that was cut off accounts for nothing, so of what
it left only the records themselves can be checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from graphrag_provenance.rules.digests import MultisetHash
from graphrag_provenance.rules.invariants import Invariant
from graphrag_provenance.rules.recorded import ANSWER, RETRIEVAL, content_digest, digest_text
from graphrag_provenance.rules.soundness import Node, Say
from graphrag_provenance.store.database import Row

_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_ID = {ANSWER: "answer_id", RETRIEVAL: "retrieval_id"}
SayOf = Callable[[object, object], Say]


def check_recorded(rows: Mapping[str, Iterator[Row]], runs: Iterable[Row], say_of: SayOf) -> None:
    """Check everything that was recorded. `rows`: kind → the records; `say_of`: how to tell of a record of a tenant."""
    there: dict[str, dict[int, MultisetHash]] = {kind: {} for kind in rows}
    for kind, records in rows.items():
        for row in records:
            node = row["node"]
            say = say_of(node.get("tenant"), node.get(_ID[kind]))
            try:
                digest = content_digest(kind, node)
                if digest_text(digest) != node["content_digest"]:
                    say(Invariant.RECORDED, f"the digest of a recorded {kind} is not that of its content")
                if kind == ANSWER and sorted(row["steps"]) != _steps(node):
                    say(Invariant.RECORDED, "the steps of a recorded answer are not those of its claims")
                there[kind].setdefault(node["since"], MultisetHash()).add(digest)
            except _MALFORMED as error:
                say(Invariant.MALFORMED, f"a recorded {kind} cannot be read: {type(error).__name__} {error}")
    _check_accounts(there, runs, say_of)


def _steps(node: Node) -> list[list[object]]:
    edge_ids = {step["edge_id"] for claim in json.loads(node["content"]) for step in claim["steps"]}
    return [[node["tenant"], node["answer_id"], edge_id] for edge_id in sorted(edge_ids)]


def _check_accounts(there: Mapping[str, dict[int, MultisetHash]], runs: Iterable[Row], say_of: SayOf) -> None:
    for run in runs:
        say = say_of(None, str(run["seq"]))
        found = there[run["kind"]].pop(run["seq"], MultisetHash())
        try:
            counts = json.loads(run["counts"])
        except _MALFORMED:
            continue  # told of the run itself
        if run["status"] == "finished" and counts.get("recorded_hash") != found.graph_hash():
            say(Invariant.RECORDED, "what a run recorded is not what it accounts for")
    for kind, left in there.items():
        for seq in left:
            say_of(None, str(seq))(Invariant.RECORDED, f"a {kind} names a run that recorded none")
