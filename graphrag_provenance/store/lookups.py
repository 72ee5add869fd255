"""Look-ups: edges, entities and runs by key or name (spec 2, reading; spec 5, command line).

Owns: what each look-up returns and that a hidden thing is answered exactly like an absent one, error text included.
Visibility is in the stored queries (`cypher/read`) and checked again here. Every look-up asks after reading whether the policy
order is still the one it read by, so that a change of it counts at once. Withheld and retracted edges have no effective policy
and are for auditors; run records span tenants and count what readers may not see, so they are for operators and auditors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.model.identifiers import normalise_entity_id
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.rules.answers import Json, extractors, in_order, instant, item_json, scope_json
from graphrag_provenance.rules.chains import Address
from graphrag_provenance.store.database import Database, Row
from graphrag_provenance.store.readers import Visibility, require_role
from graphrag_provenance.store.readers import may_see as _may_see
from graphrag_provenance.store.runs import run_json
from graphrag_provenance.store.seeing import confirmed_read as _confirmed
from graphrag_provenance.store.seeing import references_of as _references
from graphrag_provenance.store.seeing import shown as _shown
from graphrag_provenance.store.seeing import stands_for
from graphrag_provenance.store.staging import with_outcome

MOST_ROWS = 1_000
_LAST = 2**63 - 1
_WORD = re.compile(r"\w+")


def edge_show(
    database: Database, reader: Reader, edge_id: str, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None
) -> Json:
    """One edge with its active evidence. Auditors also see unpublished ones, with the reasons. Raises NotFoundError."""
    def read(view: Visibility) -> tuple[Json, set[str] | None]:
        row = _edge(database, reader, view, edge_id, "read.edge_show", "read.edge_unpublished", follow=True)
        items = _shown(view, row)
        merged = row["assertion"]["edge_id"] != edge_id
        return {
            "schema": 1, **edge_json(row["assertion"], reader), **({"merged_from": edge_id} if merged else {}),
            "extracted_by": extractors(one.content for one in items), "evidence": [item_json(one) for one in in_order(items)],
        }, None if merged else _references(row["assertion"], items)

    return _confirmed(database, access, reader, granted, read)


def edge_history(
    database: Database, reader: Reader, edge_id: str, granted: Collection[str] = frozenset(), *, access: AccessSource | None = None
) -> Json:
    """Every citation of an edge with the run that added it and the one that retired it. Auditors also see who ran these, in which
    trace, and which run changed the edge last, be it by evidence or by another order of policies. Raises NotFoundError."""
    def read(view: Visibility) -> tuple[Json, set[str]]:
        row = _edge(database, reader, view, edge_id, "read.edge_history", "read.edge_history_unpublished")
        items = sorted(in_order(_shown(view, row)), key=lambda one: (one.content["since"], one.content["until"] or _LAST))
        return {
            "schema": 1, **edge_json(row["assertion"], reader),
            "history": [
                {**item_json(one), "since": one.content["since"], "until": one.content["until"],
                 "retired_by": _run(one.content["ended"], reader),
                 **({"run": _run(one.content["run"], reader)} if reader.is_auditor else {})}
                for one in items],
            **({"changed_by": _changed_by(database, row["assertion"])} if reader.is_auditor else {}),
        }, _references(row["assertion"], items)

    return _confirmed(database, access, reader, granted, read)


def edge_list(
    database: Database, reader: Reader, withheld: bool = False, limit: int = 100, after: str | None = None,
    granted: Collection[str] = frozenset(), *, access: AccessSource | None = None,
) -> list[Json]:
    """Edges by id, `limit` at a time, those behind `after`. `withheld`: those not published, for auditors and operators."""
    page = {"after": after or "", "limit": most_rows(limit)}
    if withheld:
        require_role(reader, Role.AUDITOR, Role.OPERATOR, action="Listing withheld edges")
        rows = database.read("read.edge_withheld", tenant=reader.tenant, **page)
        return [{**edge_json(row["assertion"], reader), "reasons": list(row["assertion"]["reasons"])} for row in rows]

    def read(view: Visibility) -> tuple[list[Json], set[str]]:
        found = [row["assertion"] for row in database.read("read.edge_list", **view.params(), **page)]
        seen = [edge for edge in found if _may_see(view, edge)]
        return [edge_json(edge, reader) for edge in seen], {key for edge in seen for key in edge["acl"]}

    return _confirmed(database, access, reader, granted, read)


def entity_find(
    database: Database, reader: Reader, text: str, limit: int = 20, granted: Collection[str] = frozenset(), *,
    access: AccessSource | None = None,
) -> list[Json]:
    """Visible entities whose names, id or alias fit `text`: exact ones first, then by name. Nothing hidden shifts the order."""
    return _confirmed(database, access, reader, granted, lambda view: (_find(database, view, text, limit), None))


def _find(database: Database, view: Visibility, text: str, limit: int) -> list[Json]:
    exact, most = normalise_entity_id(text), most_rows(limit)
    if not exact:
        raise InputError("There is nothing to look for.", hint="Write a part of a name, an id or an alias.")
    rows = database.read("read.entity_alias", **view.params(), lookup=exact)
    words = _WORD.findall(text.casefold())
    if words:
        query = " AND ".join(f"({word} OR {word}*)" for word in words)
        rows += database.read("read.entity_find", **view.params(), words=query, exact=exact, limit=most)
    found = {(row["type"], row["id"]): {**row, "names": list(row["names"] or ())} for row in rows}
    return list(found.values())[:most]


def entity_show(
    database: Database, reader: Reader, entity: Address, granted: Collection[str] = frozenset(), limit: int = 100, *,
    access: AccessSource | None = None,
) -> Json:
    """One entity by id, or by a declared alias: names, aliases, visible edges counted by relation and direction, and the
    first `limit` of them. Raises NotFoundError."""
    return _confirmed(database, access, reader, granted, lambda view: (_show(database, view, entity, limit), None))


def _show(database: Database, view: Visibility, entity: Address, limit: int) -> Json:
    kind, name = entity[0], normalise_entity_id(entity[1])
    rows = _entity(database, view, kind, name, limit)
    if not rows:
        ends = [{"number": 0, "type": kind, "lookup": name}]
        sure = [r["id"] for r in database.read("path.aliases", **view.params(), ends=ends) if not r["guessed"]]
        rows = _entity(database, view, kind, sure[0], limit) if len(sure) == 1 else []
    if not rows:
        raise NotFoundError(f"There is no entity {kind}:{name}.", hint="Search for it: gprov entity find TEXT.")
    row, node = rows[0], rows[0]["entity"]
    visible = [edge for edge in row["edges"] if _may_see(view, edge["edge"])]
    return {
        "schema": 1, "type": node["type"], "id": node["id"], "name": node["name"], "names": list(node.get("names") or ()),
        "aliases": sorted(row["aliases"], key=lambda a: (a["alias"], a["method"], a["linker"], a["linker_version"])),
        "attributes": _attributes(node),
        "counts": sorted(
            ({"relation": _relation(c), "outgoing": c["outgoing"], "edges": c["edges"]} for c in row["counts"]),
            key=lambda c: (c["relation"], not c["outgoing"])),
        "edges": [
            {"edge_id": e["edge"]["edge_id"], "relation": _relation(e), "outgoing": e["outgoing"], "other": e["other"],
             "scope": scope_json(e["edge"]), "current": e["edge"]["current"], "disputed": e["edge"]["disputed"]}
            for e in visible],
    }


def run_list(database: Database, reader: Reader | None = None, *, limit: int = 50, before: int | None = None) -> list[Json]:
    """Run records, newest first, those before run `before`.

    A reader needs the role operator or auditor. Without a reader it is the operator's own call, on the store's credentials;
    an interface that serves others passes the reader. A run may have written for several tenants: to a reader of a store that holds,
    or held, another tenant too, it is not told what was read and how much (names of files, counts).
    """
    _require_operations(reader)
    rows = database.read("read.runs", before=_LAST if before is None else before, limit=most_rows(limit))
    return _of_one_tenant(database, reader, [with_outcome(database, run_json(row["run"])) for row in rows])


def run_show(database: Database, seq: int, reader: Reader | None = None) -> Json:
    """One run record; who may see it: as `run_list`. Of a run that was staged, `status` says what became of it, and `settled` names the run
    that did it. Raises NotFoundError."""
    _require_operations(reader)
    rows = database.read("run.by_seq", seq=seq)
    if not rows:
        raise NotFoundError(f"There is no run {seq}.", hint="See: gprov run list.")
    (run,) = _of_one_tenant(database, reader, [with_outcome(database, run_json(rows[0]["run"]))])
    return {"schema": 1, **run}


_OF_EVERY_TENANT = frozenset({"inputs", "counts"})


def _of_one_tenant(database: Database, reader: Reader | None, runs: list[Json]) -> list[Json]:
    if reader is None or not database.read("read.other_tenants", tenant=reader.tenant)[0]["others"]:
        return runs
    return [{name: value for name, value in run.items() if name not in _OF_EVERY_TENANT} for run in runs]


def _require_operations(reader: Reader | None) -> None:
    if reader is not None:
        require_role(reader, Role.OPERATOR, Role.AUDITOR, action="Reading run records")


def _edge(
    database: Database, reader: Reader, view: Visibility, edge_id: str, published: str, unpublished: str, *, follow: bool = False,
) -> Row:
    """The row of an edge; `follow`: of the one that took it in, where it was."""
    rows = database.read(published, **view.params(), edge_id=edge_id)
    if not rows and follow:
        rows = [row for into in stands_for(database, view, [edge_id]).values()
                for row in database.read(published, **view.params(), edge_id=into)]
    if rows and _may_see(view, rows[0]["assertion"]):
        return rows[0]
    if reader.is_auditor:
        rows = database.read(unpublished, tenant=view.tenant, edge_id=edge_id)
        if rows:
            return rows[0]
    raise NotFoundError(f"There is no edge {edge_id}.", hint="See: gprov edge list.")


def _entity(database: Database, view: Visibility, kind: str, name: str, limit: int) -> list[Row]:
    return database.read("read.entity_show", **view.params(), type=kind, id=name, limit=most_rows(limit))


def edge_json(a: Mapping[str, Any], reader: Reader) -> Json:
    """An edge as look-ups print it; reasons, policies and references are for auditors."""
    shown: Json = {
        "edge_id": a["edge_id"], "relation": a["relation"], "state": a["state"],
        "source": {"type": a["source_type"], "id": a["source_id"]}, "target": {"type": a["target_type"], "id": a["target_id"]},
        "scope": scope_json(a), "confidence": a.get("confidence"), "current": bool(a.get("current")),
        "disputed": bool(a.get("disputed")), "attributes": _attributes(a),
    }
    if reader.is_auditor:
        shown |= {name: list(a.get(name) or ()) for name in ("reasons", "policies", "acl")}
    return shown


def _relation(row: Mapping[str, Any]) -> str:
    return str(row["relation"] or row["type"].lower())


def _attributes(node: Mapping[str, Any]) -> Any:
    return json.loads(node["attributes"]) if node.get("attributes") else {}


_RUN = ("seq", "pipeline", "version")
_WHO = ("kind", "actor", "run_id", "trace_id")


def _run(run: Mapping[str, Any] | None, reader: Reader) -> Json | None:
    """A run as a reader may know it; who ran it, and in which trace, is for auditors."""
    names = (*_RUN, *_WHO) if reader.is_auditor else _RUN
    return None if run is None else {**{name: run[name] for name in names}, "at": instant(run["at"])}


def _changed_by(database: Database, edge: Mapping[str, Any]) -> Json | None:
    rows = database.read("run.by_seq", seq=edge["changed"])
    if not rows:
        return None
    run = run_json(rows[0]["run"])
    return {**{n: run[n] for n in ("seq", "kind", "pipeline", "version", "actor")}, "at": run.get("finished_at") or run["started_at"]}


def most_rows(limit: int) -> int:
    """A page size that may be asked for. Raises InputError for any other."""
    if not 1 <= limit <= MOST_ROWS:
        raise InputError(f"A page has 1 to {MOST_ROWS:,} rows.", hint=f"Ask with --limit between 1 and {MOST_ROWS}.")
    return limit
