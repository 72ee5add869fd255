"""`gprov init`: a folder to start from.

Owns: which files a new workspace has. Existing files are never overwritten. Leaves to others: the content of policies
and relations (shipped in `etl/`).
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from graphrag_provenance.config import WORKSPACE_FILE
from graphrag_provenance.errors import InputError
from graphrag_provenance.interfaces.cli.context import say
from graphrag_provenance.interfaces.cli.visible import visible
from graphrag_provenance.resources import etl_path

_NAMED = 3
_SETTINGS = """\
# Settings of this workspace. A flag or an environment variable (GRAPHRAG_PROVENANCE_*, NEO4J_*) goes before.
# The password of a server belongs in the environment (NEO4J_PASSWORD), not here.

policies = "policies.toml"
tenant = "ACME"
clearance = ["internal"]

# neo4j_uri = "neo4j://localhost:7687"   # without it: the local server of the home
# home = "state"                         # folder of all local state
# batch_size = 5000                      # edges a transaction
# max_hops = 4                           # longest chain a trace looks for
# retention_days = 365                   # how long doc purge keeps the texts of what was replaced
# require_registered_sources = false     # reject evidence whose chunk no record declares
"""

_AUDITOR = """\
# Who reads, for --reader readers/auditor.toml. What is not named here comes from the settings; a flag goes before.

principal = "auditor"
tenant = "ACME"
clearances = ["restricted"]   # each covers every policy below it
roles = ["auditor"]           # reader, auditor (sees policies and withheld edges), operator (loads and repairs)
"""

_EXAMPLE = """\
{"kind":"document","doc_id":"POL-17","title":"Key custody","source_type":"policy","tenant":"ACME","policy":"internal"}
{"kind":"revision","doc":"POL-17@1.4","tenant":"ACME","effective_at":"2026-01-01T00:00:00Z"}
{"kind":"edge","relation":"depends_on","source":{"type":"System","id":"SYS_A"},"target":{"type":"System","id":"SYS_B"},\
"evidence":[{"doc":"POL-17@1.4","chunk":"c-0291","span":[120,214],"policy":"internal"}],\
"access":{"tenant":"ACME"},"scope":{"environment":"production"},"extracted_by":{"pipeline":"example","version":"1"},\
"confidence":0.87}
"""


def init(
    folder: Annotated[Path, typer.Argument(help="Folder to make or to fill.", metavar="DIR")] = Path("."),
) -> None:
    """Write settings, policies, relations, a reader and an example to ingest into a folder. Overwrites nothing."""
    files = {
        WORKSPACE_FILE: _SETTINGS,
        "policies.toml": etl_path("policies.toml").read_text(encoding="utf-8"),
        "relations.toml": etl_path("relations.toml").read_text(encoding="utf-8"),
        "readers/auditor.toml": _AUDITOR,
        "records/example.jsonl": _EXAMPLE,
        **_example_pipeline(),
    }
    there = [name for name in files if (folder / name).exists()]
    if there:
        more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
        raise InputError(f"{folder} holds {', '.join(there[:_NAMED])}{more} already.", hint="Name another folder: gprov init DIR.")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder.", hint="Name another: gprov init DIR.")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        typer.echo(visible(str(path)))
    inside = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    say(
        "Next: " + inside + "gprov ingest records --pipeline-name example --relations relations.toml "
        "&& gprov trace System:SYS_A System:SYS_B"
    )
    say("To see policies and withheld edges: --reader readers/auditor.toml, for example gprov edge list --withheld --reader "
        "readers/auditor.toml.")
    say("A pipeline of your own: pipelines/example; see gprov pipeline check example, gprov pipeline run example.")


def _example_pipeline() -> dict[str, str]:
    """The shipped pipeline for CSV under another name, to be changed."""
    shipped = etl_path("pipelines", "csv")
    return {f"pipelines/example/{path.name}": path.read_text(encoding="utf-8").replace('name = "csv"', 'name = "example"')
            for path in sorted(shipped.iterdir())}
