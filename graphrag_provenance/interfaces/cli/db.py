"""`gprov db`: the local Neo4j by command.

Owns: names and options of these commands; data goes to stdout, messages to stderr.
Leaves to others: what they do (`server`), how errors look (the main app).
"""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.config import load_settings
from graphrag_provenance.exports.import_files import import_arguments, read_manifest
from graphrag_provenance.interfaces.cli.visible import visible, visible_lines
from graphrag_provenance.server.admin import backup as write_backup
from graphrag_provenance.server.admin import import_files
from graphrag_provenance.server.admin import restore as load_backup
from graphrag_provenance.server.fetch import Progress
from graphrag_provenance.server.local import LocalServer, ServerStatus
from graphrag_provenance.server.progress import shown_progress

app = typer.Typer(no_args_is_help=True, help="The local Neo4j: start, stop, status, logs, backup, restore, import.")


class _Format(StrEnum):
    table = "table"
    json = "json"


class _Profile(StrEnum):
    quick = "quick"
    load = "load"


_Home = Annotated[
    Path | None, typer.Option("--home", help="Folder of all local state.", show_default="the user's data folder", metavar="DIR")
]
_Version = Annotated[
    str | None,
    typer.Option("--neo4j-version", help="Version of Neo4j.", show_default="the version of the data there", metavar="VERSION"),
]
_FormatOption = Annotated[_Format, typer.Option("--format", help="How to print the status.")]


@app.command()
def start(
    home: _Home = None,
    neo4j_version: _Version = None,
    profile: Annotated[
        _Profile, typer.Option(help="quick: starts fast, small; load: built for loading and measuring.")
    ] = _Profile.quick,
    heap: Annotated[str | None, typer.Option(help="Java heap, such as 2g.", show_default="the profile's", metavar="SIZE")] = None,
    pagecache: Annotated[str | None, typer.Option(help="Page cache, such as 1g.", show_default="the profile's", metavar="SIZE")] = None,
) -> None:
    """Fetch Neo4j if it is missing, start it, and print its address."""
    server = _server(home, neo4j_version)
    if not server.status().running:
        _say(f"Starting Neo4j {server.version} in {server.layout.root}.")
    with shown_progress(f"Neo4j {server.version}") as progress:
        status = _server(home, neo4j_version, progress=progress).start(profile.value, heap=heap, pagecache=pagecache)
    if status.profile != profile.value:
        _say(f"It runs already, with the profile '{status.profile}'; stop it first to change that.")
    typer.echo(status.uri)


@app.command()
def stop(home: _Home = None, neo4j_version: _Version = None) -> None:
    """Stop the local Neo4j. Nothing committed is lost."""
    stopped = _server(home, neo4j_version).stop()
    _say("Stopped." if stopped else "It did not run.")


@app.command()
def status(home: _Home = None, neo4j_version: _Version = None, format: _FormatOption = _Format.table) -> None:
    """Print what runs. Exit code 0 if the server runs, 1 if not."""
    now = _server(home, neo4j_version).status()
    typer.echo(json.dumps(_as_json(now), indent=2) if format is _Format.json else _as_table(now))
    if not now.running:
        raise typer.Exit(1)


@app.command()
def logs(
    home: _Home = None,
    neo4j_version: _Version = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many lines from the end.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing until interrupted.")] = False,
) -> None:
    """Print the end of the server's log."""
    for line in _server(home, neo4j_version).logs(lines, follow):
        typer.echo(line)


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="New file to write.", metavar="FILE")],
    home: _Home = None,
    neo4j_version: _Version = None,
) -> None:
    """Write the database to a file. A running server is stopped meanwhile and started again."""
    typer.echo(visible(str(write_backup(_server(home, neo4j_version), file))))


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="File that gprov db backup wrote.", metavar="FILE")],
    home: _Home = None,
    neo4j_version: _Version = None,
) -> None:
    """Replace the database by a backup. A running server is stopped meanwhile and started again."""
    with shown_progress("Neo4j") as progress:
        load_backup(_server(home, neo4j_version, progress=progress), file)
    _say("Restored.")


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="Folder that `gprov export import-csv` wrote.", metavar="DIR")],
    finish: Annotated[
        bool,
        typer.Option("--finish", help="The files are imported already, in the store of NEO4J_URI or here: only finish and compare."),
    ] = False,
    home: _Home = None,
    neo4j_version: _Version = None,
) -> None:
    """Replace the database by what import files hold, apply the schema, and compare the graph hash.

    A running server is stopped for it; if the import fails, the database is as before. On another server, import the files there with
    the options in import.args, then run this with --finish.
    """
    from graphrag_provenance.interfaces.cli.importing import finish_store  # noqa: PLC0415 - loads the driver

    manifest = read_manifest(folder)
    if not finish:
        with shown_progress("Neo4j") as progress:
            import_files(_server(home, neo4j_version, progress=progress), import_arguments(folder.absolute()))
        _say(f"Imported {sum(manifest['rows'].values()):,} rows.")
    finish_store(load_settings(home=home, neo4j_version=neo4j_version), manifest["graph_hash"], local=not finish)
    _say(f"The store is that of the files. Graph hash: {manifest['graph_hash']}")


def _server(home: Path | None, version: str | None, progress: Progress | None = None) -> LocalServer:
    settings = load_settings(home=home, neo4j_version=version)
    return LocalServer(settings, notify=_say, progress=progress)


def _as_json(status: ServerStatus) -> dict[str, object]:
    return {"schema": 1} | asdict(status) | {"home": str(status.home)}


def _as_table(status: ServerStatus) -> str:
    values = {name: value for name, value in asdict(status).items() if value is not None}
    shown = {k: ("yes" if v else "no") if isinstance(v, bool) else str(v) for k, v in values.items()}
    width = max(map(len, shown))
    return "\n".join(f"{name.replace('_', ' '):<{width}}  {value}" for name, value in shown.items())


def _say(text: str) -> None:
    typer.echo(visible_lines(text), err=True)
