"""`gprov doc delete` and `gprov doc purge`: documents removed, and the texts of what is past its time.

Owns: names, options and how a receipt looks. Whoever has the store's credentials may do this, as with `policy apply`. Leaves to others:
what a removal does (`ingest.deletion`), what is past its time (`ingest.purging`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.errors import InputError
from graphrag_provenance.ingest.deletion import DeletionOptions, Receipt, delete_document
from graphrag_provenance.ingest.purging import PurgeOptions, PurgeSummary, purge_texts, window
from graphrag_provenance.interfaces.cli.boundary import Interrupted
from graphrag_provenance.interfaces.cli.context import open_database, say, settings_for, trace_id_for
from graphrag_provenance.interfaces.cli.options import (
    Actor,
    AsLoaded,
    DryRun,
    Format,
    FormatOption,
    Home,
    Reason,
    TraceId,
    Workspace,
)
from graphrag_provenance.interfaces.cli.render import address_of, plain, print_json, print_lines, table
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.rules.receipts import Fate

_Tenant = Annotated[str | None, typer.Option("--tenant", help="Tenant of the document. Default: the setting.", metavar="NAME")]
_HEADINGS = {
    Fate.PUBLISHED: "Published, what it was withheld for is gone", Fate.RELAXED: "Relaxed, more readers see it",
    Fate.TIGHTENED: "Tightened, fewer readers see it", Fate.WITHHELD: "Withheld", Fate.RETRACTED: "Retracted, no evidence is left",
    Fate.KEPT: "Kept, with less evidence",
}


def delete(
    doc: Annotated[str, typer.Argument(help="Document id.", metavar="DOC")],
    revision: Annotated[
        str | None, typer.Option("--in", help="The revision in which it is gone. Default: the head.", metavar="DOC@VER")
    ] = None,
    dry_run: DryRun = False,
    reason: Reason = None,
    require_registered_sources: AsLoaded = False,
    actor: Actor = None,
    trace_id: TraceId = None,
    tenant: _Tenant = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Remove a document, as a run: write its tombstone, retire its evidence, and print a receipt of all that changed.

    What other documents state stays as it is. Its texts stay until they are purged; `gprov run rollback` takes a deletion back.
    """
    settings = settings_for(home, workspace, actor=actor, require_registered_sources=require_registered_sources or None)
    options = DeletionOptions(
        _tenant_for(settings, tenant), doc, revision, reason, actor=default_actor(settings), trace_id=trace_id_for(trace_id),
        dry_run=dry_run, require_registered_sources=settings.require_registered_sources, lease_seconds=settings.lease_seconds,
        wait_seconds=settings.wait_seconds)
    with open_database(settings, migrate=False) as database:
        try:
            receipt = delete_document(database, options, notify=say)
        except KeyboardInterrupt:
            raise Interrupted("Interrupted. See what the last run did: gprov run list.") from None
    if format is Format.TABLE:
        _print_receipt(receipt)
    elif format is Format.JSON:
        print_json(receipt.as_json())
    else:
        body = receipt.as_json()
        print_lines({"fate": one.value, **line} for one in Fate for line in body[one.value])


def purge(
    doc: Annotated[str | None, typer.Argument(help="Document id. Default: every document of the tenant.", metavar="DOC")] = None,
    keep_days: Annotated[
        int | None, typer.Option("--keep-days", help="Keep what was replaced in the last N days. Default: the setting retention_days.",
                                 metavar="N", min=0, max=365_000)
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", help="Or: purge what was replaced before this instant, ISO 8601.", metavar="INSTANT")
    ] = None,
    dry_run: DryRun = False,
    actor: Actor = None,
    trace_id: TraceId = None,
    tenant: _Tenant = None,
    home: Home = None,
    workspace: Workspace = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Remove the texts of superseded revisions and of deleted documents that are past the retention window, as a run.

    Ids, hashes, tombstones and history stay, and so does the graph hash. A text that evidence in force cites stays too. No rollback
    brings a purged text back.
    """
    if keep_days is not None and before is not None:
        raise InputError("--keep-days and --before name two windows.", hint="Name one.")
    settings = settings_for(home, workspace, actor=actor, retention_days=keep_days)
    owner = _tenant_for(settings, tenant)
    until = window(settings.retention_days, None if before is None else _instant(before))
    if until is None:
        raise InputError("No retention window is set, so nothing is purged.", hint="Name --keep-days or --before, or set 'retention_days'.")
    options = PurgeOptions(
        owner, until, doc, actor=default_actor(settings), trace_id=trace_id_for(trace_id), dry_run=dry_run,
        lease_seconds=settings.lease_seconds, wait_seconds=settings.wait_seconds)
    with open_database(settings, migrate=False) as database:
        try:
            summary = purge_texts(database, options, notify=say)
        except KeyboardInterrupt:
            raise Interrupted("Interrupted. What was purged stays purged; the same command purges the rest.") from None
    if format is Format.TABLE:
        _print_purge(summary)
    elif format is Format.JSON:
        print_json(summary.as_json())
    else:
        print_lines(summary.as_json()["revisions"])


def _instant(text: str) -> datetime:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise InputError(f"--before: {error}.") from None


def _tenant_for(settings: Settings, flag: str | None) -> str:
    tenant = flag or settings.tenant
    if not tenant:
        raise InputError("A document belongs to a tenant.", hint="Name it with --tenant, or set 'tenant'.")
    return tenant


def _print_receipt(receipt: Receipt) -> None:
    what = "Dry run, nothing was written" if receipt.dry_run else f"Run {receipt.run['seq']} {receipt.run['status']}"
    again = ", which was deleted there before" if receipt.already else ""
    typer.echo(f"{what}: {plain(receipt.doc_id)} is gone in {plain(receipt.revision)}{again}.")
    counts = receipt.counted()
    told = ", ".join(f"{counts[one]:,} {one.value}" for one in Fate)
    typer.echo(f"Edges: {told}. Evidence retired: {counts['evidence_retired']:,}. In {receipt.seconds:.1f} s.")
    body = receipt.as_json()
    for one, heading in _HEADINGS.items():
        if lines := body[one.value]:
            typer.echo(f"\n{heading}: {counts[one]:,}")
            table([_row(line) for line in lines], ("edge", "from", "relation", "to", "before", "after", "evidence"))
    if receipt.truncated:
        say("Not all edges are named.")
    if sum(receipt.counts.values()) and not receipt.dry_run:
        say("What recorded answers lost by it: gprov answer impact.")


def _row(line: dict[str, Any]) -> dict[str, Any]:
    return {
        "edge": line["edge_id"], "from": address_of(line["source"]), "relation": line["relation"], "to": address_of(line["target"]),
        "before": _decision(line["before"]), "after": _decision(line["after"]),
        "evidence": f"{line['before']['evidence']} → {line['after']['evidence']}"}


def _decision(decided: dict[str, Any]) -> str:
    because = ", ".join(map(plain, [*(decided["policies"] or decided["reasons"]), *decided["acl"]]))
    return f"{decided['state']} ({because})" if because else str(decided["state"])


def _print_purge(summary: PurgeSummary) -> None:
    body = summary.as_json()
    run = summary.run
    what = "Dry run, nothing was written" if summary.options.dry_run else f"Run {run['seq']} {run['status']}" if run else "Nothing to purge"
    counts = body["counts"]
    typer.echo(f"{what}: {counts['texts']:,} texts of {counts['passages']:,} passages in {counts['revisions']:,} revisions that were "
               f"replaced before {body['before']}, in {body['seconds']:.1f} s.")
    if counts["in_use"]:
        typer.echo(f"{counts['in_use']:,} passages keep their text: evidence in force cites them.")
    if body["revisions"]:
        table(body["revisions"], ("doc", "state", "since", "since_run", "passages", "in_use"), titles={"since_run": "run"})
    if body["truncated"]:
        say("Not all revisions are named.")
