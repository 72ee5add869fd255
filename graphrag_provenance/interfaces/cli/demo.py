"""`gprov demo`: the main job on shipped data, in one command.

Owns: what the demo loads, the two questions it asks and what it suggests next. A second demo writes nothing. It never
mixes with data of somebody else: a store that holds anything but the sample is refused.
Leaves to others: loading (`loading`), tracing (`tracing`), the local server (`server`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.ingest import IngestOptions, Summary
from graphrag_provenance.interfaces.cli.context import open_database, policies_for, read_text, say, settings_for
from graphrag_provenance.interfaces.cli.loading import lines, run_load
from graphrag_provenance.interfaces.cli.options import Home
from graphrag_provenance.interfaces.cli.tracing import ask, show
from graphrag_provenance.model.identifiers import parse_address
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.chains import Question
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.rules.relations import parse_relations
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.lookups import run_list
from graphrag_provenance.store.runs import store_state, stored_policies

SAMPLE = ("samples", "payments")
PIPELINE = "samples/payments"
TENANT = "ACME"


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question of the demo."""

    about: str
    source: str
    target: str
    region: str | None = None

    def flags(self) -> str:
        region = f" --region {self.region}" if self.region else ""
        return f"{self.source} {self.target} --tenant {TENANT} --clearance internal --env production{region}"


QUESTIONS = (
    _Asked("Does the checkout rest on policy POL-31?", "System:checkout-api", "Policy:POL-31", "eu-west"),
    _Asked("Do refunds fall under policy POL-22?", "System:refund-worker", "Policy:POL-22"),
)


def demo(home: Home = None) -> None:
    """Start a local Neo4j, load the shipped sample, and trace two claims to their evidence.

    The first run fetches Neo4j (about 160 MB). The server stays up; a second run writes nothing. With NEO4J_URI set, that
    server is used, if it holds nothing but the sample.
    """
    settings = settings_for(home)
    order = policies_for(settings, etl_path(*SAMPLE, "policies.toml"))
    with open_database(settings, install=True, migrate=True) as database:
        _refuse_other_data(database, settings, order)
        summary = _load(database, settings, order)
        _tell(summary)
        reader = Reader("demo", TENANT, frozenset({"internal"}))
        for number, asked in enumerate(QUESTIONS, 1):
            source, target = parse_address(asked.source), parse_address(asked.target)
            question = Question(source, target, environment="production", region=asked.region)
            typer.echo(f"\n{number}. {asked.about}\n")
            show(ask(database, question, reader), reader)
    typer.echo(_next(settings, home))


def _refuse_other_data(database: Database, settings: Settings, order: PolicyLattice) -> None:
    where = settings.neo4j_uri or f"the home {settings.home}"
    hint = "Give the demo a home of its own, without NEO4J_URI: gprov demo --home DIR."
    present = stored_policies(store_state(database))
    if present is not None and present.hash != order.hash:
        raise ConfigurationError(f"The store at {where} has another order of policies than the sample.", hint=hint)
    other = next((run for run in run_list(database, limit=1000) if run["pipeline"] != PIPELINE), None)
    if other is not None:
        told = f"run {other['seq']} of {other['pipeline']}"
        raise ConfigurationError(f"The store at {where} holds other data than the sample ({told}).", hint=hint)


def _load(database: Database, settings: Settings, order: PolicyLattice) -> Summary:
    files = [etl_path(*SAMPLE, f"{name}.jsonl") for name in ("documents", "entities", "edges")]
    relations = etl_path("relations.toml")
    options = IngestOptions(
        policies=order,
        relations=parse_relations(read_text(relations, "relations file"), str(relations)),
        actor=default_actor(settings),
        pipeline=PIPELINE,
        version="1",
        rejects=Path(os.devnull),
    )
    say("Loading the sample: documents, entities and relations of a made-up payments company.")
    return run_load(database, files, options)


def _tell(summary: Summary) -> None:
    for line in lines(summary.as_json()):
        say(f"  {line}")


def _next(settings: Settings, home: Path | None) -> str:
    program = _program()
    where = f" --home {shlex.quote(str(home))}" if home is not None else ""
    first = QUESTIONS[0]
    told = [
        "",
        "Try next",
        "  # the same claim in another region: unresolved (region-scope)",
        f"  {program} trace {first.flags().replace('eu-west', 'us-east')}{where}",
        "  # the same claim by somebody who may read public sources only: unresolved, and the ends do not even exist",
        f"  {program} trace {first.flags().replace('internal', 'public')}{where}",
        "  # what is withheld, and why (an auditor may ask)",
        f"  {program} edge list --withheld --tenant {TENANT} --clearance restricted --role auditor{where}",
        "  # one edge with all of its evidence, as a program reads it",
        f"  {program} edge show 'E:dep:payment-router->ledger' --tenant {TENANT} --clearance internal --format json{where}",
        "  # does every invariant hold?",
        f"  {program} verify{where}",
    ]
    if settings.neo4j_uri is None:
        told += ["  # the local Neo4j stays up; stop it with", f"  {program} db stop{where}"]
    return "\n".join(told)


def _program() -> str:
    """How this program is called from here: by name where the shell finds it, else by path."""
    here = Path(sys.argv[0])
    found = shutil.which("gprov")
    if here.name not in ("gprov", "graphrag-provenance") or (found and Path(found).resolve() == here.resolve()):
        return "gprov"
    try:
        return str(here.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(here)
