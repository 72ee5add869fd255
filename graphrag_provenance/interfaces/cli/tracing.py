"""`gprov trace`: claim, path, evidence.

Owns: options, and how an answer is printed. Leaves to others: the answer (`store.traces`), its picture (`picture`).
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli import logs
from graphrag_provenance.interfaces.cli.candidate import asked
from graphrag_provenance.interfaces.cli.claims import answers as answers_to
from graphrag_provenance.interfaces.cli.claims import caller_for, read_claims, show_answers
from graphrag_provenance.interfaces.cli.context import (
    access_for,
    address,
    open_database,
    reader_for,
    relations_for,
    settings_for,
    trace_id_for,
)
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Candidate,
    Clearance,
    Format,
    FormatOption,
    Home,
    Principal,
    ReaderFile,
    RelationsFile,
    RoleOption,
    Tenant,
    Workspace,
)
from graphrag_provenance.interfaces.cli.picture import draw
from graphrag_provenance.interfaces.cli.render import print_json, print_lines
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.answers import Audience, Trace
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.conflicts import Relations
from graphrag_provenance.store.as_of import traces_as_of
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.traces import trace as answer


class AudienceName(StrEnum):
    """Whom the answer is for; the names of `rules.answers.Audience`."""

    READER = "reader"
    AUDITOR = "auditor"


def trace(
    source: Annotated[str | None, typer.Argument(help="Where the claim starts, Type:id.", metavar="FROM")] = None,
    target: Annotated[str | None, typer.Argument(help="Where it ends, Type:id.", metavar="TO")] = None,
    claims: Annotated[
        Path | None,
        typer.Option("--claims", help="Ask every claim of a file at once (TOML or JSON lines).", metavar="FILE"),
    ] = None,
    relation: Annotated[
        list[str] | None,
        typer.Option("--relation", help="Relation that may be walked. Repeatable; default: all.", metavar="R"),
    ] = None,
    sequence: Annotated[
        list[str] | None,
        typer.Option("--sequence", help="Exact relation of the next hop. Repeat for each hop.", metavar="R"),
    ] = None,
    max_hops: Annotated[
        int | None, typer.Option("--max-hops", help="Longest chain. Default: the setting, 4.", min=1, max=8, metavar="N")
    ] = None,
    undirected: Annotated[bool, typer.Option("--undirected", help="Walk edges in both directions.")] = False,
    environment: Annotated[str | None, typer.Option("--env", help="Environment in which every hop must hold.", metavar="E")] = None,
    region: Annotated[str | None, typer.Option("--region", help="Region in which every hop must hold.", metavar="R")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Instant at which every hop must be valid. Default: now.", metavar="T")
    ] = None,
    as_of: Annotated[
        int | None, typer.Option("--as-of", help="Ask of the graph as it was after a run; access is that of today.", metavar="RUN", min=1)
    ] = None,
    candidate: Candidate = False,
    allow_stale: Annotated[bool, typer.Option("--allow-stale", help="Accept hops that rest on replaced revisions only.")] = False,
    audience: Annotated[
        AudienceName | None,
        typer.Option("--audience", help="Whose view. auditor needs --role auditor. Default: reader."),
    ] = None,
    relations: RelationsFile = None,
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    access_file: AccessFile = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Trace a claim through the graph to its evidence, or every claim of a file. Exit code 1 if one stays unresolved."""
    settings = settings_for(home, workspace, max_hops=max_hops, access_file=access_file)
    if claims is not None:
        if source or relation or sequence or undirected or environment or region or at or as_of or allow_stale:
            raise InputError("A file of claims says itself what is asked.", hint="Leave out FROM, TO and the options about the claim.")
        claims_asked = read_claims(claims)
        caller = caller_for(claims_asked, settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
        view: Audience | None = None if audience is None else "auditor" if audience is AudienceName.AUDITOR else "reader"
        answers = answers_to(claims_asked, settings, caller, principal, view, relations_for(relations), candidate)
        show_answers(answers, view, format)
        if any(one.state != "supported" for _, one in answers):
            raise typer.Exit(1)
        return
    if source is None or target is None:
        raise InputError("A claim has two ends.", hint="Write FROM and TO, or name a file with --claims.")
    if candidate and as_of is not None:
        raise InputError("A candidate has no past.", hint="Leave out --as-of, or --candidate.")
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    try:
        instant = parse_instant(at) if at else None
    except ValueError as error:
        raise InputError(f"--at: {error}.") from None
    question = Question(
        address(source),
        address(target),
        relations=tuple(relation or ()),
        sequence=tuple(sequence or ()),
        directed=not undirected,
        max_hops=settings.max_hops,
        environment=environment,
        region=region,
        at=instant,
        require_current=not allow_stale,
    )
    with open_database(settings, migrate=False) as database:
        found = asked(database, candidate, lambda seen: ask(
            seen, question, who, audience or AudienceName.READER, access_for(settings, seen), relations_for(relations), as_of))
    show(found, who, audience or AudienceName.READER, format)
    if found.state != "supported":
        raise typer.Exit(1)


def ask(
    database: Database,
    question: Question,
    reader: Reader,
    audience: AudienceName = AudienceName.READER,
    access: AccessSource | None = None,
    relations: Relations | None = None,
    as_of: int | None = None,
) -> Trace:
    """The answer to a question, with its trace id on every log line from here on."""
    trace_id = trace_id_for(None)
    if as_of is None:
        found = answer(database, question, reader, access=access, audience=audience.value, relations=relations, trace_id=trace_id)
    else:
        if relations is not None:
            raise InputError("Conflicts are told of the present graph.", hint="Leave out --relations, or --as-of.")
        found = traces_as_of(database, [question], reader, as_of, access=access, audience=audience.value)[0]
        found = found if trace_id is None else replace(found, trace_id=trace_id)
    logs.note("traced", trace_id=found.trace_id, state=found.state, generation=found.generation, truncated=found.truncated)
    return found


def show(found: Trace, reader: Reader, audience: AudienceName = AudienceName.READER, form: Format = Format.TABLE) -> None:
    """Prints an answer: as JSON, or as a picture."""
    body = found.as_json(audience.value)
    if form is Format.JSON:
        print_json(body)
    elif form is Format.JSONL:
        print_lines([body])
    else:
        draw(body, tenant=reader.tenant, clearances=sorted(reader.clearances))
