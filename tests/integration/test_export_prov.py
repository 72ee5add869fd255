"""Provenance as a W3C PROV document: read back from every form, and true of what was loaded (spec 5, exports)."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import pytest
from corpus.records import Store
from prov.model import ProvDocument

from graphrag_provenance.errors import AccessDeniedError, InputError, MissingExtraError, NotFoundError
from graphrag_provenance.exports.prov import Provenance, ProvFormat, prov_document
from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.exporting import export_everything

ORDER = parse_policies(etl_path("samples", "payments", "policies.toml").read_text(encoding="utf-8"))
ODD = "a<SEP>b,c|d@e#f' \"q\") ; λ \u2028"
TENANT = "ODD"
OPERATOR = Reader("op", TENANT, frozenset(), frozenset({Role.OPERATOR}))
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")


def lines(version: str, *cited: dict[str, Any]) -> list[dict[str, Any]]:
    superseded = {"supersedes": f"{ODD}@1"} if version == "2" else {}
    return [
        {"kind": "document", "doc_id": ODD, "title": ODD, "source_type": "s", "tenant": TENANT, "policy": "public"},
        {"kind": "revision", "doc": f"{ODD}@{version}", "effective_at": f"2026-01-0{version}T00:00:00Z", "complete": True,
         "tenant": TENANT, **superseded},
        {"kind": "edge", "edge_id": f"E:{ODD}.", "relation": "uses", "source": {"type": "T", "id": ODD}, "target": {"type": "T", "id": "b"},
         "access": {"tenant": TENANT, "policy": "internal"}, "evidence": list(cited), "confidence": 0.1,
         "extracted_by": {"pipeline": "ex/tractor", "version": "2."}},
        {"kind": "edge", "edge_id": "gone", "relation": "uses", "source": {"type": "T", "id": "x"}, "target": {"type": "T", "id": "b"},
         "access": {"tenant": TENANT}, "evidence": [{"doc": f"{ODD}@1", "chunk": "only"}]},
    ]


@pytest.fixture(scope="module")
def history(emptied: Store) -> Database:
    """Two runs: the second one's revision replaces the first's, and what only that said is retracted."""
    database, folder = emptied.database, emptied.folder
    supports = {"doc": f"{ODD}@1", "chunk": "c.", "span": [0, 4], "quote_hash": "sha256:" + "0" * 64}
    for version, cited in (("1", [supports, {"doc": "nowhere@7", "chunk": ODD, "polarity": "refutes"}]),
                           ("2", [{"doc": f"{ODD}@2", "chunk": "c2"}])):
        file = folder / f"{version}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines(version, *cited)), encoding="utf-8")
        ingest(database, [file], IngestOptions(policies=ORDER, actor="ann", pipeline="load/er", version=version,
                                               rejects=folder / "rejects.jsonl"))
    return database


def made(database: Database, *, all_tenants: bool = False, **selected: Any) -> Provenance:
    with export_everything(database, OPERATOR, all_tenants=all_tenants) as everything:
        return prov_document(everything, **selected)


def local(thing: Any) -> str:
    return str(getattr(thing, "localpart", thing))


def stated(found: Provenance) -> dict[str, list[tuple[str, ...]]]:
    """Kind of relation → what it joins, by the kind of thing and the number of the run."""
    runs = {local(one.identifier): str(next(iter(one.get_attribute("gprov:seq")))) for one in found.document.records
            if type(one).__name__ == "ProvActivity"}
    told: dict[str, list[tuple[str, ...]]] = {}
    for one in found.document.records:
        if one.is_relation():
            ends = [local(value) for _, value in one.formal_attributes[:2]]
            told.setdefault(type(one).__name__.removeprefix("Prov"), []).append(
                tuple(f"run {runs[end]}" if end in runs else end.partition("/")[0] for end in ends))
    return {kind: sorted(ends) for kind, ends in told.items()}


@pytest.mark.parametrize("form", ProvFormat)
def test_every_form_reads_back_to_the_same_document(history: Database, form: ProvFormat) -> None:
    document = made(history, all_tenants=True).document
    text = Provenance(document).text(form)
    rdf = form in (ProvFormat.TURTLE, ProvFormat.TRIG)
    again = ProvDocument.deserialize(content=text, format="rdf" if rdf else form.value, **({"rdf_format": form.value} if rdf else {}))
    assert len(document.records) > 30
    assert again.unified() == document.unified()


def test_provn_keeps_to_the_grammar_of_the_recommendation(history: Database) -> None:
    found = made(history)
    read = ProvDocument.deserialize(content=found.text(ProvFormat.PROVN), format="provn", profile="strict")
    assert read.unified() == found.document.unified()


def test_what_it_says_is_what_happened(history: Database) -> None:
    told = stated(made(history))
    first, second = sorted({end for ends in told["Generation"] for end in ends if end.startswith("run ")})
    assert told["Invalidation"] == sorted([("evidence", second)] * 2 + [("edge", second)])
    assert ("revision", first) in told["Generation"]
    assert ("revision", second) in told["Generation"]
    assert told["Generation"].count(("evidence", first)) == 3
    assert told["Generation"].count(("evidence", second)) == 1  # "gone" is stated again, and counts no more
    assert told["Influence"] == [("edge", "evidence")]
    assert told["Derivation"].count(("edge", "evidence")) == 3
    assert told["Derivation"].count(("revision", "revision")) == 1
    assert told["Usage"] == [(first, "input"), (second, "input")]
    assert told["Association"] == sorted([(run, agent) for run in (first, second) for agent in ("actor", "pipeline")])
    assert told["Specialization"] == [("revision", "document")] * 3


def test_ids_are_kept_whatever_they_hold(history: Database) -> None:
    records = made(history).document.records
    said = {str(value) for one in records for value in one.get_attribute("gprov:edge_id") | one.get_attribute("gprov:doc_id")}
    assert said == {ODD, f"E:{ODD}.", "gone", "nowhere"}
    names = [local(one.identifier) for one in records if one.is_element()]
    assert len(set(names)) == len(names)
    assert all(name.isascii() and not name.endswith(".") for name in names)


def test_a_selection_has_what_it_names_and_nothing_else(history: Database) -> None:
    whole = made(history).statements
    edge = made(history, edge_id="gone")
    assert edge.statements["edge"] == 1
    assert (edge.statements["revision"], edge.statements["document"], edge.statements["evidence"]) == (1, 1, 1)
    seqs = sorted(next(iter(one.get_attribute("gprov:seq"))) for one in made(history).document.records
                  if type(one).__name__ == "ProvActivity")
    assert made(history, run=seqs[0]).statements["edge"] == whole["edge"] == 2
    assert made(history, run=seqs[1]).statements["edge"] == 2
    with pytest.raises(NotFoundError, match="no edge"):
        made(history, edge_id="never")
    with pytest.raises(NotFoundError, match="no run"):
        made(history, run=seqs[1] + 1)


def test_more_than_memory_should_hold_is_refused_and_not_cut(history: Database) -> None:
    with pytest.raises(InputError, match=r"more than 20 statements.*--max-statements"):
        made(history, most=20)


def test_only_an_operator_has_it(database: Database) -> None:
    auditor = Reader("r", TENANT, frozenset({"restricted"}), frozenset({Role.AUDITOR}))
    with pytest.raises(AccessDeniedError), export_everything(database, auditor) as everything:
        prov_document(everything)


@pytest.mark.parametrize(("module", "package"), [("prov", "prov"), ("prov", "rdflib")])
def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, module: str, package: str) -> None:
    name = f"graphrag_provenance.exports.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs the package '{package}'.*pip install 'graphrag-provenance\[export\]'"):
        importlib.import_module(name)
