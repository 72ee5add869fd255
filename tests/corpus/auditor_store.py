"""The payments sample, a second run that replaces a revision, and names that mean harm: the store that the auditor's page is shown over."""

from __future__ import annotations

import json
from typing import Any

from corpus.records import Store, chunk, document, edge, entity, revision, sha256
from graphrag_provenance.interfaces.cli.demo import SAMPLE
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies

READERS = {
    "ann": Reader("ann", "ACME", frozenset({"internal"})),
    "pub": Reader("pub", "ACME", frozenset({"public"})),
    "aud": Reader("aud", "ACME", frozenset({"restricted", "hr", "legal"}), frozenset({Role.READER, Role.AUDITOR})),
    "low": Reader("low", "ACME", frozenset({"public"}), frozenset({Role.READER, Role.AUDITOR})),
    "ops": Reader("ops", "ACME", frozenset({"internal"}), frozenset({Role.READER, Role.OPERATOR})),
}
ROUTER_EDGE = "E:dep:payment-router->ledger"
POLICY_EDGE = "E:gov:ledger->POL-31"
NEW_TEXT = "The payment router books every captured payment into the ledger. It does so once a second."
HOSTILE = "<script>alert('x')</script>"
TURNED = "abc\u202egnp.exe"
HOSTILE_EDGES = {
    "E <SEP> , | @ # ' \" ) ;": f"{HOSTILE}\"' onload=1", "E&amp;<b>": TURNED, "E/../?id=1&x=%2e": "{{ 7 * 7 }} javascript:alert(1)",
}  # fmt: skip


def load(store: Store) -> None:
    """Run 1: the sample. Run 2: a new complete revision of the router's page, one more citation. Run 3: hostile names, public."""
    policies = etl_path(*SAMPLE, "policies.toml")
    store.policies = parse_policies(policies.read_text(encoding="utf-8"), str(policies))
    store.load(files=[etl_path(*SAMPLE, f"{name}.jsonl") for name in ("documents", "entities", "edges")], pipeline="samples/payments",
               version="1")
    doc = "conf:118020@v6"
    store.load(
        revision(doc, effective_at="2026-04-01T00:00:00Z", supersedes="conf:118020@v5", complete=True),
        chunk(doc, "c-1", text=NEW_TEXT, content_sha256=sha256(NEW_TEXT), section_path=["Booking"]),
        edge("System:payment-router", "depends_on", "System:ledger",
             {"doc": doc, "chunk": "c-1", "span": [0, 64], "quote_hash": sha256(NEW_TEXT[:64])}, policy="internal", edge_id=ROUTER_EDGE,
             scope={"environment": "production", "region": "eu-west"}, confidence=0.97),
        edge("System:ledger", "governed_by", "Policy:POL-31", "POL-31@2.1#c-2", policy="internal", edge_id=POLICY_EDGE,
             scope={"environment": "production"}),
        pipeline="samples/payments", version="2")
    public = {"policy": "public"}
    hostile: list[Any] = [document(HOSTILE, title=HOSTILE, **public), revision(f"{HOSTILE}@<i>1", source_url="javascript:alert(1)//<i>1"),
                          chunk(f"{HOSTILE}@<i>1", "<b>c", text=f"{HOSTILE} {TURNED}", section_path=[HOSTILE], content_sha256=sha256(
                              f"{HOSTILE} {TURNED}")), entity("Thing:start", name="Start")]
    for edge_id, name in HOSTILE_EDGES.items():
        hostile += [entity(f"Thing:{name}", name=name),
                    edge("Thing:start", "leads_to", f"Thing:{name}", f"{HOSTILE}@<i>1#<b>c", edge_id=edge_id, policy="public")]
    store.load(*hostile, pipeline=HOSTILE, version="3")
    store.cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")


def secrets_from(reader: Reader) -> set[str]:
    """Words of the sample that stand only where this reader may not read: titles and texts of stricter documents."""
    covers = {"public": {"public"}, "internal": {"public", "internal"}}
    allowed = set().union(*(covers.get(name, set()) for name in reader.clearances))
    told: set[str] = set()
    hidden: set[str] = set()
    policy: dict[tuple[str, str], str | None] = {}
    with etl_path(*SAMPLE, "entities.jsonl").open(encoding="utf-8") as lines:  # an entity may be called like a document about it
        told.update(record["name"] for record in map(json.loads, lines))
    with etl_path(*SAMPLE, "documents.jsonl").open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if record["kind"] == "document":
                policy[record["doc_id"], record["tenant"]] = record.get("policy")
                (told if record.get("policy") in allowed and record["tenant"] == reader.tenant else hidden).add(record["title"])
            elif record["kind"] == "chunk":
                stated = record.get("policy") or policy[record["doc"].rpartition("@")[0], record["tenant"]]
                (told if stated in allowed and record["tenant"] == reader.tenant else hidden).add(record["text"][:60])
    return hidden - told
