"""Text that looks like a statement, in every field of every record and in every question of every interface: it stays text.

Each hostile load is compared with the same load of plain words: the store has as many nodes and relationships of each kind, the same
records are refused for the same reasons, and what comes out is what went in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from corpus.records import Store, chunk, cites, document, edge, entity, revision
from corpus.serving import READERS, load, serving
from mcp import Client
from typer.testing import CliRunner

from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.interfaces.mcp.server import create_server
from graphrag_provenance.store.database import Database

PAYLOADS = ["`]->() MATCH (n) DETACH DELETE n //", "'}) MATCH (n) DETACH DELETE n //", '"}) MATCH (n) DETACH DELETE n //', "$tenant"]
WORDS = ["onewordA", "twowordsB", "threewordsC", "fourwordsD"]
SEARCHES = ["*:*", "/.*/", "tenant:*", "name:[* TO *] OR a", "\\", "CALL dbms.shutdown()"]
ACL = {"system": "conf", "space": "S", "restriction_id": "7", "incarnation": "1"}
RECORDS = [
    document("d", policy="public", attributes={"key": "value", "list": ["one", "two"]}),
    revision("d@1", supersedes="d@0", source_url="https://wiki/1", acl_ref=ACL, policy="public"),
    chunk("d@1", "c1", section_path=["1", "2"], acl_ref=ACL, policy="public"),
    entity("System:A", aliases=[{"alias": "a", "method": "declared", "linker": "l", "linker_version": "1"}], attributes={"k": "v"}),
    edge("System:A", "owns", "System:B", cites("d@1#c1", policy="public", acl_ref=ACL, quote_hash="sha256:" + "0" * 64), edge_id="E",
         policy="public", scope={"environment": "production", "region": "eu"}, attributes={"k": "v"},
         extracted_by={"pipeline": "p", "version": "1"}),
    {"kind": "tombstone", "doc_id": "d", "chunk": "c1", "tenant": "ACME", "deleted_in_revision": "d@1"},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a text stands in a record; the names of attributes too."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if path[-1:] == ("attributes",):
                yield (*path, name, None)
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))
    elif isinstance(value, str) and path != ("kind",):
        yield path


def replaced(record: dict[str, Any], path: tuple[Any, ...], text: str, tenant: str) -> dict[str, Any]:
    """The record with another text in one place, in a tenant of its own."""
    own = json.dumps(record).replace('"d"', f'"d-{tenant}"').replace('"d@', f'"d-{tenant}@')  # a document has one tenant
    made = json.loads(own)
    made.get("access", made)["tenant"] = tenant
    *way, last = path
    holder = made
    for step in way[:-1] if last is None else way:
        holder = holder[step]
    if last is None:
        holder[text] = holder.pop(way[-1])
    elif last in ("doc", "deleted_in_revision", "supersedes"):
        holder[last] = f"{text}@{text}"
    else:
        holder[last] = text
    return made


def variants(texts: list[str]) -> list[dict[str, Any]]:
    """Each text in each place of each record."""
    everywhere = [(record, path) for record in RECORDS for path in places(record)]
    return [replaced(record, path, text, f"T{number}-{which}") for which, text in enumerate(texts)
            for number, (record, path) in enumerate(everywhere)]


@pytest.fixture
def gprov(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def wipe(store: Store) -> None:
    store.cypher("MATCH (n) WHERE NOT n:Migration DETACH DELETE n")


def test_a_statement_in_any_field_of_any_record_is_text(emptied: Store, gprov: Any) -> None:
    refused, exported = [], []
    for texts in (WORDS, PAYLOADS):
        wipe(emptied)
        summary = emptied.load(*variants(texts))
        refused.append({one["line"] for one in emptied.rejects(summary)})
        done = gprov("export", "jsonl", "--all-tenants", "--tenant", "any", "--clearance", "public", "--role", "operator")
        assert done.exit_code in (0, 1), done.stderr
        exported.append(sorted(told(json.loads(line), texts) for line in done.stdout.splitlines()))
    fields = variants(PAYLOADS)
    named = refused[1] - refused[0]
    assert refused[0] <= refused[1]
    assert {where(fields[line - 1]) for line in named} == {"type", "relation"}, "only a name that becomes part of a statement is refused"
    gone = {json.dumps(tenant_of(fields[line - 1])) for line in named}
    assert exported[1] == [one for one in exported[0] if not any(tenant in one for tenant in gone)]
    assert len(exported[1]) > 200


QUESTIONS = [
    ("entity", "find"), ("entity", "show"), ("edge", "show"), ("edge", "history"), ("doc", "show"), ("answer", "show"),
    ("retrieval", "explain"), ("policy", "explain"), ("trace", "System:a"), ("edge", "list", "--after"),
    ("quote", "verify", "--doc"), ("quote", "verify", "--edge")]
PATHS = ["/v1/entities?text=", "/v1/entity?address=", "/v1/edge?id=", "/v1/edge/history?id=", "/v1/edge/policy?id=", "/v1/document?id=",
         "/v1/edges?after=", "/v1/answer?id=", "/v1/runs/", "/?q=", "/entity?address=", "/edge?id=", "/trace?from=System:a&to="]
TOOLS = [("find_entities", "text"), ("show_entity", "address"), ("show_edge", "id"), ("edge_history", "id"), ("show_document", "id"),
         ("show_answer", "id")]


def test_a_statement_in_any_question_of_any_interface_is_text(
    emptied: Store, gprov: Any, server: Any, tmp_path: Path,
) -> None:
    wipe(emptied)
    load(emptied)
    emptied.load(*(entity(f"System:{text}", name=f"name {text}", tenant="ACME") for text in PAYLOADS))
    emptied.load(edge("System:a", "calls", f"System:{PAYLOADS[0]}", "p@1#c", edge_id="hostile"))
    emptied.cypher("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
    before = emptied.everything()
    ann = ("--tenant", "ACME", "--clearance", "internal")
    for question in QUESTIONS:
        done = gprov(*question, f"System:{PAYLOADS[0]}", *ann, "--format", "json")
        assert done.exit_code in (0, 1, 2), (question, done.output)
        assert "Unexpected" not in done.stderr, (question, done.stderr)
    texts = [*PAYLOADS, *SEARCHES, f"System:{PAYLOADS[0]}"]
    with serving(server.connection, tmp_path) as served:
        for text in texts:
            for path in PATHS:
                answer = served.client.get(path + quote(text, safe=""), headers=served.headers("ann"))
                assert answer.status_code < 500, (path, text, answer.text)
                assert "OTHER" not in answer.text, (path, text)
            found = served.get("ann", "/v1/entities", text=text).json().get("entities", [])
            assert text not in SEARCHES or len(found) < 4, (text, found)
        named = served.get("ann", "/v1/edge", id="hostile").json()
        assert named["target"]["id"] == PAYLOADS[0]
    with Database(server.connection) as database:
        asked = [(tool, {name: text}) for text in texts for tool, name in TOOLS]

        async def ask() -> list[Any]:
            async with Client(create_server(Service(database, served.settings), lambda _: READERS["ann"])) as client:
                return [await client.call_tool(tool, arguments) for tool, arguments in asked]

        for (tool, arguments), answered in zip(asked, asyncio.run(ask()), strict=True):
            assert "OTHER" not in "".join(part.text for part in answered.content), (tool, arguments)
    assert emptied.everything() == before


def told(record: Any, texts: list[str]) -> str:
    """A record with each text by its number, longest first; names and lists in the order of that."""
    text = json.dumps(record, ensure_ascii=False)
    for number in sorted(range(len(texts)), key=lambda one: -len(texts[one])):
        text = text.replace(json.dumps(texts[number], ensure_ascii=False)[1:-1], f"<{number}>")
    return json.dumps(ordered(json.loads(text)), sort_keys=True)


def ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: ordered(inner) for name, inner in value.items()}
    return sorted(map(ordered, value), key=json.dumps) if isinstance(value, list) else value


def tenant_of(record: dict[str, Any]) -> str:
    return str(record.get("access", record)["tenant"])


def where(record: dict[str, Any]) -> str:
    """The field that holds the payload."""
    def below(value: Any, name: str) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from below(inner, key)
        elif isinstance(value, list):
            for inner in value:
                yield from below(inner, name)
        elif isinstance(value, str) and any(text in value for text in PAYLOADS):
            yield name
    return next(below(record, ""), "an attribute's name")
