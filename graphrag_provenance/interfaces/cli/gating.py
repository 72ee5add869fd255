"""`gprov gate`: whether the evidence of an answer is complete (spec 4, release gate).

Owns: options, the record of results, and that `--shadow` never blocks. Leaves to others: the file (`rules.ledger`), the judgement
(`rules.gate`, `store.gate`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from graphrag_provenance.errors import StoreError
from graphrag_provenance.interfaces.cli.context import (
    access_for,
    open_database,
    read_text,
    reader_for,
    relations_for,
    say,
    settings_for,
)
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
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
from graphrag_provenance.interfaces.cli.render import fields, print_json, print_lines, table
from graphrag_provenance.interfaces.cli.tracing import AudienceName
from graphrag_provenance.model.instants import format_instant, now
from graphrag_provenance.private import private
from graphrag_provenance.rules.answers import Audience
from graphrag_provenance.rules.ledger import parse_ledger
from graphrag_provenance.store.gate import gate as judged

_SHADOW_FILE = Path("gate-results.jsonl")


def gate(
    file: Annotated[Path, typer.Argument(help="Ledger: facets, sentences and their evidence, TOML or JSON.", metavar="FILE")],
    shadow: Annotated[bool, typer.Option("--shadow", help="Record the result and end with 0, whatever it is.")] = False,
    record: Annotated[
        Path | None,
        typer.Option("--record", help="Add the result to this file, a JSON line. Default with --shadow: gate-results.jsonl.",
                     metavar="FILE"),
    ] = None,
    audience: Annotated[
        AudienceName, typer.Option("--audience", help="Whose view. auditor needs --role auditor. Default: reader.")
    ] = AudienceName.READER,
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
    """Judge whether the evidence of an answer is complete. Exit code 1 if it needs a review.

    It shows that the evidence is complete, not that the answer is true.
    """
    ledger = parse_ledger(read_text(file, "gate file"), str(file))
    declared = relations_for(relations)
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    view: Audience = "auditor" if audience is AudienceName.AUDITOR else "reader"
    body: dict[str, Any]
    try:
        with open_database(settings, migrate=False) as database:
            found = judged(database, ledger, who, access=access_for(settings, database), relations=declared, audience=view)
        body = found.as_json()
    except StoreError as error:
        if not shadow:
            raise
        say(f"The gate could not judge: {error}")
        body = {"schema": 1, "id": ledger.id or None, "state": "error", "error": error.as_json()["error"]}
    body |= {"shadow": shadow, "at": format_instant(now())}
    target = record or (_SHADOW_FILE if shadow else None)
    if target is not None:
        with open(target, "a", encoding="utf-8", opener=private) as lines:
            lines.write(json.dumps(body, ensure_ascii=False) + "\n")
    _show(body, format)
    if body["state"] != "evidence-complete" and not shadow:
        raise typer.Exit(1)


def _show(body: dict[str, Any], form: Format) -> None:
    if form is Format.JSON:
        print_json(body)
    elif form is Format.JSONL:
        print_lines([body])
    elif body["state"] != "error":
        fields({name: body[name] for name in ("state", "facets", "missing_facets", "reasons", "proves")})
        if body["findings"]:
            typer.echo()
            rows = [{**one, "evidence": one["edge_id"] or _passage(one["passage"])} for one in body["findings"]]
            table(rows, ("entry", "reason", "evidence", "detail"), titles={"entry": "sentence"})


def _passage(passage: dict[str, str] | None) -> str | None:
    return None if passage is None else f"{passage['doc']}#{passage['chunk']}"
