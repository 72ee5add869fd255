"""`gprov`, the command line: noun, then verb (spec 5).

Owns: the list of commands, the global options and the exit codes. A command's module is loaded when the command runs,
so that `gprov --help` stays quick. Leaves to others: how errors end a command (`boundary`), each command (its module).
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand
from typer.main import get_command

from graphrag_provenance.interfaces.cli.boundary import BoundedGroup
from graphrag_provenance.interfaces.cli.examples import epilog
from graphrag_provenance.version import __version__

EPILOG = """\b
Exit codes
  0    fine
  1    findings: unresolved, withheld, rejected, not found, not healthy
  2    usage: a wrong option, address, setting or file
  3    the store is unavailable
  130  interrupted

Data goes to stdout, messages to stderr. Add --debug to any command to see where an error came from.
Settings: flag, then GRAPHRAG_PROVENANCE_* and NEO4J_*, then gprov.toml, then default.
"""


class _Place(NamedTuple):
    """Where a command lives: a Typer app (a noun) or a function (a command without a verb)."""

    module: str
    attribute: str
    help: str


_COMMANDS = {
    "demo": _Place("demo", "demo", "The main job on shipped data: claim, path, evidence."),
    "init": _Place("workspace", "init", "Write a workspace: settings, policies, an example."),
    "db": _Place("db", "app", "The local Neo4j: start, stop, status, logs, backup, restore, import."),
    "schema": _Place("schema", "app", "The store's schema: apply, status."),
    "ingest": _Place("loading", "ingest", "Load standard records into the store."),
    "pipeline": _Place("pipelines", "app", "Pipelines of the operator's room: list, check, run."),
    "trace": _Place("tracing", "trace", "Trace a claim through the graph to its evidence."),
    "path": _Place("paths", "app", "Golden paths: check, record."),
    "gate": _Place("gating", "gate", "Judge whether the evidence of an answer is complete."),
    "eval": _Place("evaluating", "app", "Measures: chains, gate."),
    "edge": _Place("edges", "app", "Edges: show, list, history."),
    "doc": _Place("documents", "app", "Documents: show, diff, delete, purge."),
    "entity": _Place("entities", "app", "Entities: find, show, links, merge."),
    "answer": _Place("answers", "app", "Recorded answers: record, show, impact."),
    "retrieval": _Place("retrievals", "app", "Recorded retrievals: record, explain."),
    "quote": _Place("quotes", "app", "Quotes: verify, hash."),
    "run": _Place("runs", "app", "Runs: list, show, rollback, publish, discard."),
    "audit": _Place("auditing", "app", "Tamper evidence: verify, head, export."),
    "verify": _Place("checking", "verify", "Check every invariant on the live store."),
    "policy": _Place("policies", "app", "The order of policies: check, apply, explain."),
    "export": _Place("exporting", "app", "Exports: jsonl, prov, openlineage, import-csv."),
    "serve": _Place("serving", "serve", "The store over HTTP."),
    "mcp": _Place("model_context", "mcp", "The store for language models: read-only tools."),
    "key": _Place("keys", "app", "API keys of the service: new."),
    "query": _Place("statements", "app", "The stored Cypher: list, show."),
    "schema-json": _Place("records", "schema_json", "Print the JSON Schema of a record, a report or a ledger."),
}


class _LazyGroup(BoundedGroup):
    """Lists every command from the table; loads a command's module when it is resolved."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: _stub(name, place) for name, place in _COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, _load(name) if name in _COMMANDS else command, rest


def _stub(name: str, place: _Place) -> Any:
    return TyperCommand(name, help=place.help, callback=lambda: None)


def _load(name: str) -> Any:
    place = _COMMANDS[name]
    found = getattr(import_module(f"graphrag_provenance.interfaces.cli.{place.module}"), place.attribute)
    holder = typer.Typer(add_completion=False, rich_markup_mode=None)
    holder.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name)(found)
    group: Any = get_command(holder)
    return _with_examples(name, group.commands[name])


def _with_examples(name: str, command: Any) -> Any:
    """A command, and each below it, whose help ends with examples."""
    command.epilog = epilog(name) or command.epilog
    for verb, below in getattr(command, "commands", {}).items():
        _with_examples(f"{name} {verb}", below)
    return command


app = typer.Typer(
    cls=_LazyGroup,
    name="gprov",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphrag-provenance {__version__}")
        raise typer.Exit


@app.callback()
def _gprov(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    log_level: Annotated[
        str | None,
        typer.Option("--log-level", help="debug, info, warning or error. Default: warning; info with json.", metavar="LEVEL"),
    ] = None,
    log_format: Annotated[
        str, typer.Option("--log-format", help="console, or json: every line on stderr is an event.", metavar="FORMAT")
    ] = "console",
) -> None:
    """A provenance store for GraphRAG edges on Neo4j: every relation with its evidence, its access and its history."""
    import_module("graphrag_provenance.interfaces.cli.logs").configure(log_level, log_format)


def main() -> None:
    """The entry point of `gprov` and `graphrag-provenance`."""
    app()
