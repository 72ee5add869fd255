"""Options that several commands share, each written once.

Owns: their names and help texts. Leaves to others: what they mean (`context`). Light on purpose: loads quickly.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How data is printed on stdout."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"


class RoleName(StrEnum):
    """Roles a reader may claim on the command line; the names of `model.readers.Role`."""

    READER = "reader"
    AUDITOR = "auditor"
    OPERATOR = "operator"


_READER = "Who reads"
_STORE = "Where the store is"

Tenant = Annotated[
    str | None,
    typer.Option("--tenant", help="Tenant of the reader.", rich_help_panel=_READER, metavar="NAME"),
]
Clearance = Annotated[
    list[str] | None,
    typer.Option(
        "--clearance",
        help="Policy the reader is cleared for, with every policy below it. Repeatable.",
        rich_help_panel=_READER,
        metavar="POLICY",
    ),
]
Principal = Annotated[
    str | None,
    typer.Option("--principal", help="Who reads. Default: the operating system's user.", rich_help_panel=_READER, metavar="NAME"),
]
RoleOption = Annotated[
    list[RoleName] | None,
    typer.Option("--role", help="Role of the reader. Repeatable.", rich_help_panel=_READER),
]
ReaderFile = Annotated[
    Path | None,
    typer.Option(
        "--reader",
        help="TOML file with principal, tenant, clearances, roles.",
        rich_help_panel=_READER,
        metavar="FILE",
    ),
]
AccessFile = Annotated[
    Path | None,
    typer.Option(
        "--access-file",
        help="TOML or JSON file that says which live references are open. Default: the setting, or OpenFGA if that is set; else none is.",
        rich_help_panel=_READER,
        metavar="FILE",
    ),
]
RelationsFile = Annotated[
    Path | None,
    typer.Option(
        "--relations", help="File with declared relations: tells what conflicts with a single-valued one.", metavar="FILE"
    ),
]
Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder of all local state. Without NEO4J_URI the store is its local server.",
        rich_help_panel=_STORE,
        metavar="DIR",
    ),
]
Workspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        help="Folder with gprov.toml. Default: the current folder.",
        rich_help_panel=_STORE,
        metavar="DIR",
    ),
]
OptionValues = Annotated[
    list[str] | None,
    typer.Option("--option", help="Value of an option that the pipeline declares. Repeatable.", metavar="NAME=VALUE"),
]
Candidate = Annotated[
    bool, typer.Option("--candidate", help="Ask the store as it will be once the staged run is published.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the data.")]
Actor = Annotated[str | None, typer.Option("--actor", help="Who writes. Default: the operating system's user.", metavar="NAME")]
TraceId = Annotated[
    str | None, typer.Option("--trace-id", help="Trace id for the run record, or a traceparent. Default: TRACEPARENT.", metavar="ID")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the run record.", metavar="TEXT")]
Stage = Annotated[
    bool, typer.Option("--stage", help="Hold it back: nothing is live before gprov run publish RUN; check it with --candidate.")
]
Resume = Annotated[int | None, typer.Option("--resume", help="Complete an interrupted run.", metavar="RUN", min=1)]
Workers = Annotated[int, typer.Option("--workers", help="Transactions at a time; processes of a bulk load.", min=1, max=64)]
BatchSize = Annotated[
    int | None, typer.Option("--batch-size", help="Records or edges a transaction. Default: the setting.", min=1, max=100_000)
]
PoliciesFile = Annotated[
    Path | None,
    typer.Option("--policies", help="Policy file for a store that has no order yet. Default: the setting.", metavar="FILE"),
]
DeclaredRelations = Annotated[
    Path | None, typer.Option("--relations", help="File with declared relations. Default: none declared.", metavar="FILE")
]
Registered = Annotated[
    bool, typer.Option("--require-registered-sources", help="Refuse evidence whose chunk no record declares.")
]
AsLoaded = Annotated[
    bool, typer.Option("--require-registered-sources", help="As it was loaded: an edge's own policy stands in for nothing.")
]
Rejects = Annotated[
    Path | None, typer.Option("--rejects", help="File for what is refused. Default: <run>.rejected.jsonl here.", metavar="FILE")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1_000, help="Most rows to print.")]
