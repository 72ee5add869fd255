"""`gprov doc`: documents, their revisions, what changed between two of them, and their end.

Owns: names, options and tables. Leaves to others: what a reader may see (`store.documents`), what changed (`rules.document_diff`),
removal (`interfaces.cli.deleting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from graphrag_provenance.config import Settings
from graphrag_provenance.interfaces.cli.candidate import asked
from graphrag_provenance.interfaces.cli.claims import read_golden
from graphrag_provenance.interfaces.cli.context import access_for, open_database, reader_for, say, settings_for
from graphrag_provenance.interfaces.cli.deleting import delete, purge
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Candidate,
    Clearance,
    Format,
    FormatOption,
    Home,
    Limit,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import address_of, fields, plain, print_json, print_lines, table
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.claims import GoldenQuestion
from graphrag_provenance.rules.golden import touched
from graphrag_provenance.store.asking import ask_claims
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.documents import doc_diff, doc_show

app = typer.Typer(no_args_is_help=True, help="Documents and their revisions.")
_LISTS = ("kept", "gained", "lost", "policy_changed", "re_anchored")


@app.callback()
def _doc() -> None:
    """Documents and their revisions."""


@app.command()
def show(
    doc: Annotated[str, typer.Argument(help="Document id, or doc@version for one revision.", metavar="DOC[@VER]")],
    limit: Limit = 100,
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
    """Print a document: its revisions with head, chunks and chunker versions, and the edges that cite it."""
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        found = doc_show(database, who, doc, limit=limit, access=access_for(settings, database))
    if format is Format.TABLE:
        _print(found)
    elif format is Format.JSON:
        print_json(found)
    else:
        print_lines([found])


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="The older revision.", metavar="DOC@A")],
    after: Annotated[str, typer.Argument(help="The newer revision of the same document.", metavar="DOC@B")],
    tenant: Tenant = None,
    clearance: Clearance = None,
    principal: Principal = None,
    role: RoleOption = None,
    reader: ReaderFile = None,
    access_file: AccessFile = None,
    golden: Annotated[
        Path | None, typer.Option("--golden", help="Golden file: which of its questions the change touches, and how each is answered.",
                                  metavar="FILE")
    ] = None,
    candidate: Candidate = False,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Say which edges were kept, gained, lost or came under another policy, where quotes stand now, and what became of the chunks.

    A chunk that is gone without a tombstone is reported as missing: a connector may have failed. When the chunker changed, that is said
    instead.
    """
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    questions = None if golden is None else read_golden(golden)
    with open_database(settings, migrate=False) as database:
        found = asked(database, candidate, lambda seen: _changed(seen, settings, who, before, after, questions))
    if format is Format.TABLE:
        _print_diff(found)
    elif format is Format.JSON:
        print_json(found)
    else:
        print_lines({"change": name, **one} for name in _LISTS for one in found[name])


def _changed(
    database: Database, settings: Settings, who: Reader, before: str, after: str, questions: Sequence[GoldenQuestion] | None,
) -> dict[str, Any]:
    """The difference; with questions, also which of them it touches."""
    access = access_for(settings, database)
    found = doc_diff(database, who, before, after, access=access)
    if questions is None:
        return found
    answers = ask_claims(database, questions, who, principal=who.principal, access=access, max_hops=settings.max_hops)
    edge_ids = {edge["edge_id"] for name in ("kept", "gained", "lost") for edge in found[name]}
    return {**found, "golden": touched(zip(questions, answers, strict=True), edge_ids)}


app.command()(delete)
app.command()(purge)


def _print(found: dict[str, Any]) -> None:
    kept = ("doc_id", "title", "source_type", "head", "policies")
    fields({name: found[name] for name in kept if found.get(name) not in (None, [], "")} | found["attributes"])
    typer.echo()
    table(found["revisions"], ("doc", "state", "effective_at", "supersedes", "superseded_by", "complete", "chunks", "purged", "cited_only",
                               "chunker_versions", "edges", "policies", "acl"))
    if found["edges"]:
        typer.echo()
        table([_row(edge) | {"revisions": edge["revisions"], "active": edge["evidence"]["active"], "ever": edge["evidence"]["ever"]}
               for edge in found["edges"]],
              ("edge_id", "from", "relation", "to", "state", "current", "disputed", "revisions", "active", "ever"))
    if found["truncated"]:
        say(f"{len(found['edges']):,} of {found['edges_total']:,} edges; more with --limit.")


def _row(edge: dict[str, Any]) -> dict[str, Any]:
    return {**edge, "from": address_of(edge["source"]), "to": address_of(edge["target"])}


def _print_diff(found: dict[str, Any]) -> None:
    head = found["head"]
    in_force = "neither is the head" if head is None else f"head {plain(head)}"
    typer.echo(f"{plain(found['before'])} to {plain(found['after'])}; {in_force}")
    typer.echo(", ".join(f"{len(found[name]):,} {name.replace('_', ' ')}" for name in _LISTS))
    _section("Lost", [_row(edge) | edge["evidence"] for edge in found["lost"]],
             ("edge_id", "from", "relation", "to", "state", "before", "quote_found"), {"before": "evidence", "quote_found": "quote found"})
    _section("Gained", [_row(edge) | edge["evidence"] for edge in found["gained"]],
             ("edge_id", "from", "relation", "to", "state", "after"), {"after": "evidence"})
    _section("Under another policy", found["policy_changed"], ("edge_id", "before", "after"))
    _section("Quotes found elsewhere", [
        {"edge_id": one["edge_id"], "from": _place(one["from"]), "to": _place(one["to"]), "by": one["by"]}
        for one in found["re_anchored"] if one["moved"]], ("edge_id", "from", "to", "by"))
    _section("Recorded answers that rest on these edges", found.get("answers", ()), ("answer_id", "edge_ids"))
    _section("Golden paths over these edges", [
        {**one, "ok": "as expected" if one["ok"] else "differs"} for one in found.get("golden", ())],
             ("id", "edge_ids", "ok"), {"ok": "answer"})
    if found["lost"] and not found["complete"]:
        say(f"{plain(found['after'])} was not loaded as complete: what it lost may only not have been extracted yet.")
    _print_chunks(found["chunks"])


def _section(title: str, rows: Sequence[dict[str, Any]], columns: Sequence[str], titles: dict[str, str] | None = None) -> None:
    if rows:
        typer.echo(f"\n{title}: {len(rows):,}")
        table(rows, columns, titles=titles)


def _place(place: dict[str, Any]) -> str:
    span = place["span"]
    return place["chunk"] if span is None else f"{place['chunk']} {span[0]}-{span[1]}"


def _print_chunks(chunks: dict[str, Any]) -> None:
    typer.echo(f"\nChunks: {chunks['before']:,} before, {chunks['after']:,} after, {chunks['same']:,} the same")
    rechunked = chunks["chunker_changed"]
    if rechunked:
        typer.echo(f"The chunker changed from {plain(rechunked['before'])} to {plain(rechunked['after'])}: all chunk ids are new.")
    told = {name: chunks[name] for name in ("changed", "added", "deleted") if chunks[name]}
    if chunks["moved"]:
        told["moved"] = [f"{one['from']} is now {one['to']}" for one in chunks["moved"]]
    if told:
        fields(told)
    if chunks["missing"]:
        say(f"Possible connector failure: no tombstone says that these were removed: {plain(chunks['missing'])}.")
