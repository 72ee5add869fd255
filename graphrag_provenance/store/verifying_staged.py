"""Whether what is staged is what was staged, and what became of it is what a later run says (spec 3, staged generations; spec 5, `verify`).

Owns: which records break that. A run that was staged stays so, or names the later run that published or discarded it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphrag_provenance.errors import StoreError
from graphrag_provenance.rules.invariants import Invariant
from graphrag_provenance.rules.soundness import Say
from graphrag_provenance.store.database import Row
from graphrag_provenance.store.runs import run_json
from graphrag_provenance.store.staging import OUTCOME, STAGED, content_hash, held_of

_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, StoreError)


def check_staged(rows: Iterable[Row], staged: object, say_of: Callable[[object, object], Say]) -> None:
    """Check every run that is or was staged; `rows` are those of `verify.staged`, `staged` is what the store's record names."""
    found = False
    for row in rows:
        run, by = row["run"], row["by"]
        say = say_of(None, str(run.get("seq")))
        if run.get("status") != STAGED:
            say(Invariant.STAGED, "a run that was not staged holds something back, or was published or discarded")
            continue
        if run.get("settled") is None:
            if run.get("seq") != staged:
                say(Invariant.STAGED, "a staged run is not the one that the store's record names")
            found = found or run.get("seq") == staged
            try:
                if content_hash(held_of(run, row["parts"]).parts) != run_json(run)["counts"]["content_hash"]:
                    say(Invariant.STAGED, "what a run holds back is not what was staged")
            except _MALFORMED as error:
                say(Invariant.MALFORMED, f"what a run holds back cannot be read: {type(error).__name__} {error}")
            continue
        if row["parts"]:
            say(Invariant.STAGED, "a run that was published or discarded holds something back")
        try:
            told = run_json(by or {}).get("inputs") or [{}]
            if (by or {}).get("kind") not in OUTCOME or (told[0].get("staged"), told[0].get("digest")) != (run["seq"], run["digest"]):
                say(Invariant.STAGED, "a run names as the one that published or discarded it one that does not say so")
        except _MALFORMED as error:
            say(Invariant.MALFORMED, f"what became of a staged run cannot be read: {type(error).__name__} {error}")
    if staged is not None and not found:
        say_of(None, str(staged))(Invariant.STAGED, "the store's record names a staged run that is none")
