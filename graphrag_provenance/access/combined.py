"""Several sources, each for the systems it decides.

Owns: which source is asked. A system that no source answers for is denied; a source opens references of its own systems
only; one that fails denies its own and leaves the others alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from graphrag_provenance.access.asking import ask_check, ask_granted
from graphrag_provenance.access.interface import AccessSource, Decision, Grants, Refusal, reference
from graphrag_provenance.model.instants import now
from graphrag_provenance.model.readers import Reader


class CombinedSource:
    """Sources by the name of the system (`AclRef.system`)."""

    def __init__(self, systems: Mapping[str, AccessSource]) -> None:
        self._systems = dict(systems)
        self._sources = list({id(source): source for source in systems.values()}.values())

    @property
    def name(self) -> str:
        """The names of the sources."""
        return " + ".join(source.name for source in self._sources) or "no source"

    def granted(self, reader: Reader) -> Grants:
        """What the sources grant, each in its own systems."""
        answers = [(source, ask_granted(source, reader, report=False)) for source in self._sources]
        keys = frozenset(key for source, said in answers for key in said.keys if self._source_of(key) is source)
        return Grants(
            self.name, keys, _tokens(said for _, said in answers), min((s.resolved_at for _, s in answers), default=now()),
            max((s.stale_at_most for _, s in answers), default=0.0), _troubles(said for _, said in answers))

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        """What the sources say, each about its own systems."""
        denied: dict[str, str] = {
            key: Refusal.NOT_A_REFERENCE if reference(key) is None else Refusal.UNKNOWN_SYSTEM
            for key in refs if self._source_of(key) is None}
        allowed, answers = set[str](), list[Decision]()
        for source in self._sources:
            own = frozenset(key for key in refs if self._source_of(key) is source)
            if own:
                answers.append(said := ask_check(source, reader, own, report=False))
                allowed |= said.allowed & own
                denied |= {key: said.denied.get(key, Refusal.NOT_A_READER) for key in own - said.allowed}
        return Decision(
            self.name, frozenset(allowed), denied, _tokens(answers), min((s.resolved_at for s in answers), default=now()),
            max((s.stale_at_most for s in answers), default=0.0), _troubles(answers))

    def _source_of(self, key: str) -> AccessSource | None:
        found = reference(key)
        return None if found is None else self._systems.get(found.system)


def _tokens(answers: Iterable[Grants | Decision]) -> str | None:
    tokens = {said.source: said.token for said in answers}
    return json.dumps(tokens, sort_keys=True, ensure_ascii=False) if tokens else None


def _troubles(answers: Iterable[Grants | Decision]) -> str | None:
    return "; ".join(f"{said.source}: {said.trouble}" for said in answers if said.trouble is not None) or None
