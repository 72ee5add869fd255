"""Files of claims on the command line: read, asked, and shown.

Owns: which reader asks (the file's, else the command's), and the list of answers. Leaves to others: the format (`rules.claims`), the
answers (`store.asking`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.interfaces.cli.candidate import asked
from graphrag_provenance.interfaces.cli.context import access_for, open_database, read_text, reader_for
from graphrag_provenance.interfaces.cli.options import Format, RoleName
from graphrag_provenance.interfaces.cli.render import print_json, print_lines, table
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Audience, Trace
from graphrag_provenance.rules.claims import Claim, GoldenQuestion, form_of, parse_claims, parse_golden
from graphrag_provenance.rules.conflicts import Relations
from graphrag_provenance.store.asking import ask_claims

C = TypeVar("C", bound=Claim)


def read_claims(file: Path) -> tuple[Claim, ...]:
    """The claims of a file; raises InputError with the place."""
    return parse_claims(read_text(file, "claims file"), str(file), form_of(file.name))


def read_golden(file: Path) -> tuple[GoldenQuestion, ...]:
    """The claims of a file with the answers expected; raises InputError with the place."""
    return parse_golden(read_text(file, "golden file"), str(file), form_of(file.name))


def caller_for(
    claims: Sequence[Claim], settings: Settings, *, tenant: str | None, clearance: Sequence[str] | None, principal: str | None,
    role: Sequence[RoleName] | None, file: Path | None,
) -> Reader | None:
    """The command's reader; None where the file names every reader and no option does."""
    if all(claim.names_reader for claim in claims) and not (tenant or clearance or role or file):
        return None
    return reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=file)


def answers(
    claims: Sequence[C], settings: Settings, caller: Reader | None, principal: str | None, audience: Audience | None = None,
    relations: Relations | None = None, candidate: bool = False,
) -> list[tuple[C, Trace]]:
    """Each claim with its answer; `candidate`: from the store as it will be once the staged run is published."""
    name = principal or (caller.principal if caller else None) or settings.principal or default_actor(settings)
    with open_database(settings, migrate=False) as database:
        found = asked(database, candidate, lambda seen: ask_claims(
            seen, claims, caller, principal=name, access=access_for(settings, seen), max_hops=settings.max_hops, audience=audience,
            relations=relations))
    return list(zip(claims, found, strict=True))


def show_answers(found: Sequence[tuple[Claim, Trace]], audience: Audience | None, form: Format) -> None:
    """The answers in the asked form, each with the id of its claim."""
    if form is Format.TABLE:
        table([_row(claim, answer) for claim, answer in found], ("id", "from", "to", "state", "reason", "hops", "truncated", "conflicts"))
        return
    bodies = [_body(claim, answer, audience) for claim, answer in found]
    if form is Format.JSON:
        print_json({"schema": 1, "answers": bodies})
    else:
        print_lines(bodies)


def _body(claim: Claim, answer: Trace, audience: Audience | None) -> dict[str, Any]:
    view: Audience = audience or ("auditor" if "auditor" in (claim.roles or ()) else "reader")
    return {"id": claim.id, **answer.as_json(view)}


def _row(claim: Claim, answer: Trace) -> dict[str, Any]:
    return {
        "id": claim.id, "from": claim.from_, "to": claim.to, "state": answer.state,
        "reason": None if answer.reason is None else answer.reason.value,
        "hops": len(answer.chains[0].steps) if answer.chains else None, "truncated": True if answer.truncated else None,
        "conflicts": sorted({one.other for one in answer.conflicts or ()}),
    }
