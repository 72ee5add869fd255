"""Asking the claims of a file (spec 4, claims).

Owns: that claims of one reader and one audience go together, and that answers come in the order of the file. Leaves to others: the
file (`rules.claims`), the answers (`store.traces`).
"""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Audience, Trace
from graphrag_provenance.rules.claims import Claim
from graphrag_provenance.rules.conflicts import Relations
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import traces


def ask_claims(
    database: Database, claims: Sequence[Claim], caller: Reader | None, *, principal: str, access: AccessSource | None = None,
    max_hops: int = 4, audience: Audience | None = None, relations: Relations | None = None,
) -> list[Trace]:
    """The answer to each claim, in order. `caller` asks what no reader is named for; `audience` None: the auditor's view where the
    claim names that role. Raises InputError for a claim without a reader, else as `traces`."""
    groups: dict[tuple[Reader, Audience], list[int]] = {}
    for number, claim in enumerate(claims):
        view = audience or ("auditor" if Role.AUDITOR in (claim.roles or ()) else "reader")
        groups.setdefault((claim.reader(caller, principal), view), []).append(number)
    answers: dict[int, Trace] = {}
    for (reader, view), numbers in groups.items():
        found = traces(
            database, [claims[number].question(max_hops) for number in numbers], reader, access=access, audience=view,
            relations=relations)
        answers.update(zip(numbers, found, strict=True))
    return [answers[number] for number in range(len(claims))]
