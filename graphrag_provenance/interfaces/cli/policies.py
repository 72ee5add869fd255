"""`gprov policy`: the order of policies by command.

Owns: names, options and how an order, a change of it and an explanation look. Leaves to others: what a policy file may say
(`rules.policies`), what applying does (`ingest.policy`), what an auditor may see (`store.explaining`).
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.ingest.policy import (
    PolicyOptions,
    PolicyProgress,
    PolicySummary,
    apply_policies,
    order_json,
)
from graphrag_provenance.interfaces.cli.boundary import Interrupted
from graphrag_provenance.interfaces.cli.context import (
    access_for,
    open_database,
    policies_for,
    reader_for,
    say,
    settings_for,
    trace_id_for,
)
from graphrag_provenance.interfaces.cli.options import (
    AccessFile,
    Actor,
    AsLoaded,
    BatchSize,
    Clearance,
    DryRun,
    Format,
    FormatOption,
    Home,
    Principal,
    ReaderFile,
    RoleOption,
    Tenant,
    TraceId,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import plain, print_json, print_lines, table
from graphrag_provenance.rules.opening import Effect
from graphrag_provenance.rules.policies import PolicyLattice
from graphrag_provenance.server.local import LocalServer
from graphrag_provenance.store.explaining import explain_policy
from graphrag_provenance.store.orders import next_policies, stored_policies
from graphrag_provenance.store.runs import store_state

app = typer.Typer(no_args_is_help=True, help="The order of policies.")

_File = Annotated[
    Path | None, typer.Argument(help="Policy file. Default: the workspace's, then the shipped one.", metavar="FILE")
]
_HEADINGS = {Effect.OPENED: "Opens", Effect.CLOSED: "Closes", Effect.CHANGED: "Changes, the same readers see it"}


@app.callback()
def _policy() -> None:
    """The order of policies."""


@app.command()
def check(file: _File = None, home: Home = None, workspace: Workspace = None, format: FormatOption = Format.TABLE) -> None:
    """Check a policy file and print the order it defines; compare it with the store's, if a store answers.

    Exit code 2 names the place of an error. Starts no server.
    """
    settings = settings_for(home, workspace)
    order = policies_for(settings, file)
    rows = [
        {"policy": name, "directly_above": list(order.as_json()[name]), "covers": sorted(order.below[name])}
        for name in sorted(order.names, key=lambda name: (len(order.below[name]), name))
    ]
    store = _store_state(settings)
    stands = stored_policies(store)
    compared = None if stands is None else {**order_json(stands, order), "unfinished": bool(next_policies(store))}
    if format is Format.JSON:
        print_json({"schema": 1, "ok": True, "hash": order.hash, "policies": rows, "store": compared})
    elif format is Format.JSONL:
        print_lines(rows)
    else:
        table(rows, ("policy", "directly_above", "covers"))
        if compared is not None:
            say(_compared(compared))


@app.command()
def apply(
    file: _File = None,
    dry_run: DryRun = False,
    batch_size: BatchSize = None,
    require_registered_sources: AsLoaded = False,
    trace_id: TraceId = None,
    actor: Actor = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Make a policy file the store's order and decide about every edge by it, as a run. What opens is listed first.

    A run that was cut off is completed by applying again; until then readers see only what both orders permit.
    """
    settings = settings_for(
        home, workspace, batch_size=batch_size, actor=actor, require_registered_sources=require_registered_sources or None
    )
    order = policies_for(settings, file)
    options = PolicyOptions(
        source=str(file or settings.policies or "shipped"), actor=default_actor(settings), trace_id=trace_id_for(trace_id), dry_run=dry_run,
        require_registered_sources=settings.require_registered_sources, batch_size=settings.batch_size,
        lease_seconds=settings.lease_seconds, wait_seconds=settings.wait_seconds,
    )  # fmt: skip
    with open_database(settings, migrate=False) as database, _shown() as progress:
        try:
            summary = apply_policies(database, order, options, progress=progress, notify=say)
        except KeyboardInterrupt:
            raise Interrupted("Interrupted." if dry_run else "Interrupted. The change is unfinished: readers see what both orders "
                              "permit. Complete it with the same command.") from None
    if format is Format.TABLE:
        _print_summary(summary)
    elif format is Format.JSON:
        print_json(summary.as_json())
    else:
        body = summary.as_json()
        print_lines({"effect": one.value, **change} for one in _HEADINGS for change in body[one.value])


@app.command()
def explain(
    edge_id: Annotated[str, typer.Argument(help="Edge id.", metavar="EDGE")],
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
    """Print what makes an edge restricted or withheld: every statement, who makes it, and the join. Needs --role auditor."""
    settings = settings_for(home, workspace, access_file=access_file)
    who = reader_for(settings, tenant=tenant, clearance=clearance, principal=principal, role=role, file=reader)
    with open_database(settings, migrate=False) as database:
        body = explain_policy(database, who, edge_id, access=access_for(settings, database)).as_json()
    if format is Format.JSON:
        print_json(body)
    elif format is Format.JSONL:
        print_lines([body])
    else:
        _print_explanation(body)


def _store_state(settings: Settings) -> dict[str, Any] | None:
    """The store's record, if a store answers without being started."""
    try:
        if settings.neo4j_uri is None and not LocalServer(settings).status().running:
            return None
        with open_database(settings) as database:
            return store_state(database)
    except ProvenanceError:
        return None


def _compared(body: dict[str, Any]) -> str:
    if body["unfinished"]:
        return "In the store a change of the order is unfinished: gprov policy apply FILE completes it."
    if body["same"]:
        return "The store applies the same order."
    return f"The store applies another order; this file {_differences(body)}. See: gprov policy apply FILE --dry-run."


def other_order(store: PolicyLattice, given: PolicyLattice, file: Path | None) -> str:
    """What a load says whose policy file is not the store's order. `file`: as it was named; None: the workspace's."""
    named = f"{shlex.quote(str(file))} " if file else ""
    return (f"The store applies another order of policies, and that decided; your file {_differences(order_json(store, given))}. "
            f"See: gprov policy apply {named}--dry-run.")


def _differences(body: dict[str, Any]) -> str:
    return "; ".join(f"{verb} {', '.join(map(plain, names))}" for verb, names in (
        ("adds", body["added"]), ("removes", body["removed"]), ("moves", [one["policy"] for one in body["moved"]])) if names)


def _print_summary(summary: PolicySummary) -> None:
    counts = summary.counts
    what = "Dry run, nothing was written" if summary.dry_run else f"Run {summary.run['seq']} {summary.run['status']}"
    told = ", ".join(f"{counts[one]:,} {one.value}" for one in Effect)
    typer.echo(f"{what}: {told}, in {summary.seconds:.1f} s.")
    for effect, heading in _HEADINGS.items():
        if changes := summary.edges[effect]:
            typer.echo(f"\n{heading}: {counts[effect]:,}")
            table([{"tenant": one.tenant, "edge": one.edge_id, "before": _decision(one.before), "after": _decision(one.after)}
                   for one in changes], ("tenant", "edge", "before", "after"))
    if summary.truncated:
        say("Not all edges are named.")


def _decision(decided: dict[str, Any]) -> str:
    return f"{decided['state']} ({', '.join(map(plain, decided['policies'] or decided['reasons']))})"


def _print_explanation(body: dict[str, Any]) -> None:
    under = f" under {', '.join(map(plain, body['policies']))}" if body["policies"] else ""
    typer.echo(f"{plain(body['edge_id'])}: {body['state']}{under}")
    for reason in body["reasons"]:
        typer.echo(f"because: {plain(reason)}")
    typer.echo("")
    table([{**one, "record": one["record"] or "hidden"} for one in body["statements"]],
          ("policy", "by", "record", "known", "maximal"), titles={"by": "said by", "maximal": "decides"})
    for place in body["silent_evidence"]:
        typer.echo(f"nothing speaks about {plain(place or 'a hidden item')}")
    typer.echo("")
    table(body["join"], ("policy", "effect", "so_far"), titles={"policy": "join"})
    if body["acl"]:
        typer.echo(f"live references, all needed: {plain(body['acl'])}")
    if body["order_changing"]:
        say("A change of the order of policies is unfinished.")
    elif not body["agrees"]:
        say("The store does not hold what these statements give. See: gprov verify.")


@contextmanager
def _shown() -> Iterator[Callable[[PolicyProgress], None]]:
    """A callback that tells every few seconds, on stderr, how far it is."""


    last = time.monotonic()

    def line(now: PolicyProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= 5.0:
            last = time.monotonic()
            say(f"Deciding about edges: {now.done:,} done, {now.changed:,} otherwise than before")

    yield line
