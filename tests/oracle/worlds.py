"""Random worlds: orders with branches, tenants that share ids, all that spec 2 can hide, and questions about it.

A world is a function of its seed. Everything unusual is made often, since what is rare hides: unknown and blank policies, silent
evidence, references on every level, stale and refuting citations, scopes, aliases of hidden things, loops, parallel edges.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.model import Order, Record, Tenant, View, owner, reference

ENVIRONMENTS = ("production", "staging", "dev")
REGIONS = ("eu", "us")
RELATIONS = ("calls", "owns", "dependsOn", "backed_by")
WORDS = ("alpha", "beta", "gamma", "delta", "echo", "fox")
UNKNOWN = ("pubilc", "PUBLIC ", "", None, 7)
YEARS = ("2020-01-01T00:00:00Z", "2024-06-01T00:00:00Z", "2032-01-01T00:00:00Z")
BALLAST = "ballast"
REFERENCES = tuple({"system": "wiki", "space": "s", "restriction_id": f"r{n}"} for n in range(3))


def sha(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def order(rng: random.Random) -> dict[str, list[str]]:
    """An order: a lowest policy, and each other above one or two of the earlier ones."""
    names = ["public", "internal", "hr", "legal", "confidential", "secret"][:rng.randint(3, 6)]
    found: dict[str, list[str]] = {names[0]: []}
    for name in names[1:]:
        below = rng.sample(list(found), min(len(found), rng.choice((1, 1, 1, 2))))
        found[name] = sorted(below) if rng.random() > 0.15 else []
    return found


def reordered(rng: random.Random, old: Order) -> dict[str, list[str]]:
    """Another order over nearly the same names."""
    names = list(old)
    rng.shuffle(names)
    if len(names) > 3 and rng.random() < 0.3:
        names.pop()
    if rng.random() < 0.4:
        names.append("pubilc")
    return {name: sorted(rng.sample(names[:n], min(n, rng.choice((0, 1, 1, 2))))) for n, name in enumerate(names)}


@dataclass
class World:
    """Loads of records under an order, and what was damaged afterwards."""

    seed: int
    order: Order
    tenants: tuple[str, ...]
    runs: list[list[Record]] = field(default_factory=list)
    strays: list[tuple[str, tuple[str, str], tuple[str, str], str, str]] = field(default_factory=list)
    """Relationships inside the first tenant that belong to another: (tenant, source, target, owner, relation)."""

    def model(self, tenant: str) -> Tenant:
        """The model of one tenant."""
        return Tenant(tenant, self.runs, self.order)


class _Maker:
    def __init__(self, rng: random.Random, world: World) -> None:
        self.rng, self.world = rng, world
        self.known = list(world.order)
        self.size = rng.randint(5, 9)
        self.documents = [f"D{n}" for n in range(rng.randint(3, 9))]
        self.declared = {name: rng.random() < 0.8 for name in self.documents}
        """The same in each tenant: a document that only another tenant declares may not be cited."""
        self.laxity = rng.choice((1, 4, 12, 30))
        """How much likelier the lowest policy is than another one."""

    def policy(self, speaks: float, unknown: float = 0.02) -> Record:
        if self.rng.random() > speaks:
            return {}
        if self.rng.random() < unknown:
            return {"policy": self.rng.choice(UNKNOWN)}
        weights = [self.laxity] + [1] * (len(self.known) - 1)
        return {"policy": self.rng.choices(self.known, weights)[0]}

    def acl(self, chance: float) -> Record:
        return {"acl_ref": self.rng.choice(REFERENCES)} if self.rng.random() < chance else {}

    def sources(self, tenant: str) -> list[list[Record]]:
        """Documents with revisions and chunks; the second list is what arrives later."""
        rng, now, later = self.rng, list[Record](), list[Record]()
        for name in self.documents:
            if not self.declared[name]:
                continue
            now.append({"kind": "document", "doc_id": name, "title": f"Title of {name}", "source_type": "wiki", "tenant": tenant}
                       | self.policy(0.35))
            count, chained = rng.choice((1, 1, 2, 3)), rng.random() < 0.5
            for number in range(1, count + 1):
                place = later if number > 1 and rng.random() < 0.3 else now
                doc = f"{name}@{number}"
                place.append(
                    {"kind": "revision", "doc": doc, "tenant": tenant, "effective_at": f"2025-0{rng.randint(1, 3)}-01T00:00:00Z"}
                    | ({"supersedes": f"{name}@{number - 1}"} if chained and number > 1 else {})
                    | ({"source_url": f"https://example.org/{name}/{number}"} if rng.random() < 0.5 else {})
                    | self.policy(0.2, 0.01) | self.acl(0.05))
                for chunk in ("c0", "c1"):
                    if rng.random() < 0.8:
                        place.append({
                            "kind": "chunk", "doc": doc, "chunk": chunk, "tenant": tenant, "section_path": [name, chunk], "ordinal": 0,
                            "content_sha256": sha(doc + chunk), "chunker_version": "1"} | self.policy(0.2, 0.01) | self.acl(0.05))
        return [now, later]

    def evidence(self) -> Record:
        rng, name = self.rng, self.rng.choice(self.documents)
        start = rng.randint(0, 50)
        return (
            {"doc": f"{name}@{rng.choice((1, 1, 2, 3))}", "chunk": rng.choice(("c0", "c1"))}
            | ({"span": [start, start + 5], "quote_hash": sha(str(start))} if rng.random() < 0.6 else {})
            | ({"polarity": "refutes"} if rng.random() < 0.08 else {})
            | ({"confidence": rng.choice((0.25, 0.5, 1.0))} if rng.random() < 0.3 else {})
            | ({"extracted_by": {"pipeline": rng.choice("pq"), "version": "1"}} if rng.random() < 0.5 else {})
            | self.policy(0.6) | self.acl(0.06))

    def edge(self, tenant: str, number: int) -> Record:
        rng = self.rng
        ends = [{"type": "Thing" if n % 4 else "Svc", "id": f"n{n}"} for n in (rng.randrange(self.size), rng.randrange(self.size))]
        scope: Record = {}
        if rng.random() < 0.4:
            scope["environment"] = rng.choice(ENVIRONMENTS)
        if rng.random() < 0.3:
            scope["region"] = rng.choice(REGIONS)
        if rng.random() < 0.25:
            start, end = sorted(rng.sample(range(3), 2))
            scope |= {"valid_from": YEARS[start], "valid_to": YEARS[end]}
        return {
            "kind": "edge", "edge_id": f"E{number:02}", "relation": rng.choice(RELATIONS), "source": ends[0], "target": ends[1],
            "evidence": [self.evidence() for _ in range(rng.choice((1, 1, 2, 3)))],
            "access": {"tenant": tenant} | self.policy(0.3), "scope": scope,
            **({"attributes": {"tier": rng.randint(1, 3)}} if rng.random() < 0.2 else {}),
            **({"confidence": 0.75} if rng.random() < 0.2 else {}),
            **({"extracted_by": {"pipeline": "whole", "version": "2"}} if rng.random() < 0.2 else {})}

    def corridor(self, tenant: str) -> list[Record]:
        """k0 → k1 → k2 → k3, open at both ends and likely closed in the middle; often with a way round it, and a withheld short cut."""
        lowest: Record = {"policy": self.known[0]}
        rng = self.rng
        middle = [{"policy": rng.choice(self.known[1:])} | self.acl(0.5), lowest | self.acl(0.5)]
        steps = [("k0", "k1", [lowest]), ("k1", "k2", rng.choice((middle, middle[1:]))), ("k2", "k3", [lowest])]
        if rng.random() < 0.6:
            steps += [("k1", "k9", [lowest]), ("k9", "k2", [rng.choice((lowest, middle[0]))])]
        if rng.random() < 0.5:
            steps.append(("k0", "k2", [lowest, {"policy": rng.choice(UNKNOWN)}]))
        return [{
            "kind": "edge", "edge_id": f"K{number}", "relation": "calls", "scope": {}, "access": {"tenant": tenant},
            "source": {"type": "Thing", "id": source}, "target": {"type": "Thing", "id": target},
            "evidence": [{"doc": "K@1", "chunk": f"c{number}"} | said for said in items]}
            for number, (source, target, items) in enumerate(steps)]

    def entities(self, tenant: str) -> list[Record]:
        rng, found = self.rng, list[Record]()
        for number in range(self.size + 2):
            for _ in range(rng.choice((0, 1, 1, 2))):
                aliases = [{"alias": rng.choice((*WORDS, f"n{rng.randrange(self.size)}", "other name")),
                            "method": rng.choice(("declared", "exact", "guess")), "linker": "t", "linker_version": "1"}
                           for _ in range(rng.choice((0, 0, 1, 2)))]
                found.append({
                    "kind": "entity", "type": "Thing" if number % 4 else "Svc", "id": f"n{number}", "tenant": tenant,
                    "name": " ".join(rng.sample(WORDS, 2)), "aliases": aliases} | self.policy(0.15, 0.1))
        return found


def ballast() -> list[Record]:
    """A tenant of no interest, several times as large as a world: without it the planner of the server would see another store
    with each world and plan every statement anew, which takes a hundred times as long as a read."""
    rng = random.Random("ballast")
    made = World(0, {"public": [], "internal": ["public"]}, (BALLAST,))
    maker = _Maker(rng, made)
    maker.size, maker.documents = 90, [f"ballast-{n}" for n in range(80)]
    maker.declared = dict.fromkeys(maker.documents, True)
    now, later = maker.sources(BALLAST)
    return [*now, *later, *maker.entities(BALLAST), *(maker.edge(BALLAST, number) for number in range(300))]


def more(edge: Record, maker: _Maker) -> Record:
    """One more record about a known edge."""
    kept = {name: value for name, value in edge.items() if name not in ("attributes", "confidence", "extracted_by")}
    return kept | {"evidence": [maker.evidence()], "access": {"tenant": owner(edge)} | maker.policy(0.1)}


def world(seed: int, prefix: str = "T") -> World:
    """The world of a seed."""
    rng = random.Random(seed)
    made = World(seed, order(rng), tuple(f"{prefix}{seed}-{name}" for name in "AB"[:rng.choice((1, 2, 2))]))
    maker = _Maker(rng, made)
    first, second = list[Record](), list[Record]()
    for tenant in made.tenants:
        now, later = maker.sources(tenant)
        edges = [maker.edge(tenant, number) for number in range(rng.randint(12, 34))] + maker.corridor(tenant)
        again = [more(edge, maker) for edge in edges if rng.random() < 0.15]
        first += [*now, *edges, *maker.entities(tenant)]
        second += [*later, *again]
    rng.shuffle(first)
    rng.shuffle(second)
    made.runs += [first, second]
    things = [("Thing" if n % 4 else "Svc", f"n{n}") for n in range(maker.size)] + [("Thing", f"k{n}") for n in range(4)]
    if len(made.tenants) > 1:
        known = set(made.model(made.tenants[0]).entities)
        ends = [(a, b) for a in things for b in things if a != b and {a, b} <= known]
        made.strays += [(made.tenants[0], *rng.choice(ends), made.tenants[1], rng.choice(RELATIONS)) for _ in range(4) if ends]
        made.strays += [(made.tenants[0], ("Thing", "k0"), ("Thing", end), made.tenants[1], "calls") for end in ("k1", "k3")]
    return made


def change(seed: int, made: World) -> list[Record]:
    """Later records that open, close or withdraw: stricter sources, unknown names, refutations, new revisions. One run more."""
    rng = random.Random(f"change {seed}")
    maker = _Maker(rng, made)
    edges = [record for records in made.runs for record in records if record["kind"] == "edge"]
    found = [more(edge, maker) for edge in rng.sample(edges, min(3, len(edges)))]
    declared = [record for records in made.runs for record in records if record["kind"] == "document"]
    for record in rng.sample(declared, min(2, len(declared))):
        found.append({**record, **maker.policy(1.0, 0.3)})
    made.runs.append(found)
    return found


def views(rng: random.Random, made: World) -> list[View]:
    """Readers: none cleared, some, all; with none, some and all references granted."""
    keys = sorted({key for ref in REFERENCES for key in reference({"acl_ref": ref})})
    names = list(made.order)
    found = [View(made.tenants[0], frozenset(), frozenset(keys)), View(made.tenants[0], frozenset(names), frozenset(keys)),
             View(made.tenants[0], frozenset(names))]
    for _ in range(5):
        clearances = frozenset(rng.sample(names, rng.randint(1, len(names))))
        granted = frozenset(rng.sample(keys, rng.choice((0, 1, 2, 3, 3))))
        found.append(View(rng.choice(made.tenants), clearances, granted, rng.random() < 0.2))
    return found


def narrowed(rng: random.Random, view: View) -> View:
    """The same reader after a grant was taken back (or, without any, one was given)."""
    if not view.granted:
        return View(view.tenant, view.clearances, frozenset().union(*(reference({"acl_ref": ref}) for ref in REFERENCES)), view.auditor)
    return View(view.tenant, view.clearances, view.granted - {rng.choice(sorted(view.granted))}, view.auditor)


def subset(made: World, view: View, tenant: str) -> list[list[Record]]:
    """The loads of a store that holds only what a reader may see, under another tenant's name.

    A document that a visible edge cites comes with all its revisions: what is stale is a fact about the citation.
    """
    model = made.model(view.tenant)
    seen = model.seen(view)
    edges = {edge.edge_id for edge in seen}
    cited = {(item.doc, item.chunk) for edge in seen for item in edge.items}
    documents = {doc.rpartition("@")[0] for doc, _ in cited}
    entities = {entity for entity in model.entities if model.knows(view, entity, seen)}

    def kept(record: Record) -> bool:
        if owner(record) != view.tenant:
            return False
        return {
            "edge": lambda: record["edge_id"] in edges,
            "entity": lambda: (record["type"], record["id"]) in entities,
            "document": lambda: record["doc_id"] in documents,
            "revision": lambda: record["doc"].rpartition("@")[0] in documents,
            "chunk": lambda: (record["doc"], record["chunk"]) in cited,
        }[record["kind"]]()

    def renamed(record: Record) -> Record:
        if record["kind"] == "edge":
            return record | {"access": record["access"] | {"tenant": tenant}}
        return record | {"tenant": tenant}

    return [[renamed(record) for record in records if kept(record)] for records in made.runs]


@dataclass(frozen=True)
class Read:
    """One question to the store."""

    kind: str
    view: View
    asked: dict[str, Any] = field(default_factory=dict, hash=False)


def reads(rng: random.Random, made: World, readers: Sequence[View], count: int) -> list[Read]:
    """Questions of every kind; after some, the same one with another set of grants."""
    found: list[Read] = []
    weights = [1 + len(view.clearances) for view in readers]
    while len(found) < count:
        view = rng.choices(readers, weights)[0]
        one = Read(rng.choices(("trace", "edge_show", "edge_list", "entity_show", "entity_find", "edge_history"),
                               (12, 2, 1, 3, 2, 1))[0], view)
        found.append(Read(one.kind, view, _asked(rng, made, one.kind, view)))
        if rng.random() < 0.2:
            found.append(Read(one.kind, narrowed(rng, view), found[-1].asked))
    return found


def _asked(rng: random.Random, made: World, kind: str, view: View) -> dict[str, Any]:
    edges = sorted({record["edge_id"] for records in made.runs for record in records if record["kind"] == "edge"})
    if kind in ("edge_show", "edge_history"):
        return {"edge_id": rng.choice((*edges, "absent"))}
    if kind == "edge_list":
        withheld = view.auditor and rng.random() < 0.4
        return {"limit": rng.choice((1, 3, 100)), "after": rng.choice((None, None, *edges)), "withheld": withheld}
    if kind == "entity_show":
        return {"entity": _end(rng, made, 0.3), "limit": rng.choice((1, 2, 100))}
    if kind == "entity_find":
        text = rng.choice((*WORDS, "al", "n", "n1", "n3", "other name", "alpha beta", "absent", "e f"))
        return {"text": text, "limit": rng.choice((1, 2, 50))}
    sequence = tuple(rng.choices(RELATIONS, k=rng.randint(1, 3))) if rng.random() < 0.2 else ()
    relations = tuple(rng.sample(RELATIONS, rng.randint(1, 3))) if not sequence and rng.random() < 0.2 else ()
    ends = {"source": _end(rng, made, 0.06), "target": _end(rng, made, 0.06)}
    if rng.random() < 0.15:
        ends = {"source": ("Thing", "k0"), "target": ("Thing", "k3")}
        sequence = sequence and ("calls",) * 3
    return {
        **ends, "sequence": sequence, "relations": relations,
        "directed": rng.random() < 0.6, "max_hops": rng.choice((1, 2, 4, 4)),
        "environment": rng.choice((None, None, None, *ENVIRONMENTS)), "region": rng.choice((None, None, None, *REGIONS)),
        "at": rng.choice((None, None, "2022-01-01T00:00:00Z", "2024-06-01T00:00:00Z", "2031-12-31T23:59:59Z")),
        "require_current": rng.random() < 0.7}


def _end(rng: random.Random, made: World, named: float) -> tuple[str, str]:
    if rng.random() < named:
        return rng.choice(("Thing", "Svc")), rng.choice((*WORDS, "other name"))
    known = sorted({(record[end]["type"], record[end]["id"]) for records in made.runs for record in records
                    if record["kind"] == "edge" and record["edge_id"].startswith("E") for end in ("source", "target")})
    return rng.choice((*known, ("Thing", "n99")))
