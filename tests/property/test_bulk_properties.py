"""A bulk load comes to what an ordinary load of the same records comes to, node by node (spec 6, bulk load; spec 1, invariant 8)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from corpus.records import POLICIES, Record, Store, write
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loading_order import CALM, wipe, worlds
from typer.testing import CliRunner

from graphrag_provenance.errors import InputError, StoreConflictError
from graphrag_provenance.exports.import_files import read_manifest
from graphrag_provenance.exports.jsonl import policy_file
from graphrag_provenance.ingest import IngestOptions, Summary
from graphrag_provenance.ingest.bulk import Cut, bulk_load
from graphrag_provenance.ingest.quoting import QuoteMode
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.resources import etl_path
from graphrag_provenance.store.exporting import export_everything
from graphrag_provenance.store.importing import require_empty

OPERATOR = Reader("op", "T", frozenset(), frozenset({Role.OPERATOR}))
OF_THE_RUN = {"run_id", "trace_id", "started_at", "finished_at", "digest", "touched"}


@pytest.fixture(scope="module")
def store(emptied: Store) -> Store:
    return emptied


@dataclass
class Kept:
    """Takes a graph as rows."""

    rows: list[Mapping[str, Any]] = field(default_factory=list)
    marks: tuple[str, ...] = ("\x1f",)
    longest: int = 0

    def node(self, id: str, labels: Sequence[str], properties: Mapping[str, Any]) -> None:
        self.rows.append({"id": id, "labels": labels, "properties": dict(properties)})

    def relationship(self, start: str, end: str, type: str, properties: Mapping[str, Any]) -> None:
        self.rows.append({"start": start, "end": end, "type": type, "properties": properties})

    @property
    def counts(self) -> dict[str, int]:
        nodes = sum("labels" in row for row in self.rows)
        return {"nodes-": nodes, "relationships-": len(self.rows) - nodes}

    @contextmanager
    def part(self, name: str, mark: str) -> Iterator[Kept]:
        one = Kept()
        yield one
        self.rows += one.rows

    def finish(self, *_: Any) -> None:
        pass


def bulk(folder: Path, paths: list[Path], cut: Cut = Cut(), **more: Any) -> tuple[Summary, list[Mapping[str, Any]]]:
    """A bulk load in this process."""
    kept = Kept()
    options = IngestOptions(policies=POLICIES, actor="tester", **{"rejects": folder / "bulk-rejects.jsonl", "workers": 1} | more)
    return bulk_load(paths, options, kept, folder / "unfinished", cut=cut), kept.rows


def graph(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Nodes and relationships as text, in order; without what differs between two runs by nature."""
    names: dict[str, str] = {}
    told = []
    for row in sorted(rows, key=lambda row: "start" in row):
        labels = row.get("labels")
        kept = {name: value for name, value in row["properties"].items()
                if value is not None and not (name in OF_THE_RUN and {"Run", "Store"} & set(labels or ()))}
        if "counts" in kept:
            kept["counts"] = {name: value for name, value in json.loads(kept["counts"]).items() if name != "writes"}
        if labels is not None:
            names[row["id"]] = repr((sorted(labels), sorted(kept.items())))
            told.append(names[row["id"]])
        else:
            told.append(repr((names[row["start"]], row["type"], names[row["end"]], sorted(kept.items()))))
    return sorted(told)


def stored(store: Store) -> list[str]:
    with export_everything(store.database, OPERATOR, all_tenants=True) as everything:
        return graph([*everything.nodes(), *everything.relationships()])


@settings(CALM, max_examples=10)
@given(records=worlds(), chance=st.randoms(use_true_random=False))
def test_the_graph_is_that_of_an_ordinary_load(store: Store, records: list[Record], chance: random.Random) -> None:
    """However it is cut."""
    wipe(store)
    file = write(store.folder / "in.jsonl", chance.sample(records, len(records)))
    ordinary = store.load(files=[file])
    for cut in (Cut(), Cut(block=chance.randrange(200, 2_000), part=chance.randrange(200, 2_000))):
        summary, rows = bulk(store.folder, [file], cut)
        assert summary.run["graph_hash"] == store.hash()
        assert graph(rows) == stored(store)
        told, wanted = summary.as_json(), ordinary.as_json()
        for name in ("records", "edges", "evidence", "entities", "sources", "withheld_reasons", "rejected_reasons"):
            assert told[name] == wanted[name], name
        assert (told["writes"]["nodes"], told["writes"]["relationships"]) == (
            sum("labels" in row for row in rows) - 2, sum("start" in row for row in rows)), "all but the run and the store"


def test_the_sample_with_what_is_refused(store: Store) -> None:
    """Texts, spellings, declared relations, a broken line, quotes that are held against their passages."""
    wipe(store)
    sample = etl_path("samples", "payments")
    bad = store.folder / "bad.jsonl"
    bad.write_bytes(b'{"kind":"edge"}\n\n{"kind"\n{"kind":"tombstone","tenant":"T"}\n{"kind":"entity","tenant":"T","id":7}\n')
    paths = [*sorted(sample.glob("*.jsonl")), bad]
    more: dict[str, Any] = {"require_registered_sources": True, "verify_quotes": QuoteMode.STRICT}
    ordinary = store.load(files=paths, **more)
    told = []
    for cut in (Cut(), Cut(block=700, part=500)):
        summary, rows = bulk(store.folder, paths, cut, **more)
        assert graph(rows) == stored(store)
        assert summary.rejected == ordinary.rejected != {}
        assert summary.rejected_by_file == ordinary.rejected_by_file
        assert summary.outcome.quotes == ordinary.outcome.quotes != {}
        assert summary.run["status"] == "finished"
        told.append((store.folder / "bulk-rejects.jsonl").read_text(encoding="utf-8"))
    assert told[0] == told[1], "in the order of the input, however it is cut"
    assert sorted(map(repr, store.rejects(ordinary))) == sorted(map(repr, map(json.loads, told[0].splitlines())))
    places = [(str(paths.index(Path(one["file"]))), one["line"]) for one in map(json.loads, told[0].splitlines())]
    assert places == sorted(places)
    assert not (store.folder / "unfinished").exists()


def test_files_are_written_without_a_server_and_a_bulk_load_meets_only_an_empty_store(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = str(etl_path("samples", "payments"))
    wipe(store)
    require_empty(store.database)
    graph_hash = store.load(files=sorted(Path(sample).glob("*.jsonl"))).run["graph_hash"]
    with pytest.raises(StoreConflictError, match="not empty"):
        require_empty(store.database)
    monkeypatch.setenv("GRAPHRAG_PROVENANCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)

    def gprov(*args: str) -> Any:
        return CliRunner().invoke(app, ["ingest", sample, "--policies", str(tmp_path / "order.toml"), *args])

    (tmp_path / "order.toml").write_text(policy_file(POLICIES), encoding="utf-8")
    done = gprov("--bulk-files", str(tmp_path / "files"), "--format", "json")
    assert done.exit_code == 1, "some edges of the sample are withheld"
    assert json.loads(done.stdout)["run"]["graph_hash"] == read_manifest(tmp_path / "files")["graph_hash"] == graph_hash
    assert "gprov db import" in done.stderr
    assert not (tmp_path / "home").exists(), "no server was started for it"
    for args, told in (
        (["--bulk"], "NEO4J_URI names another"), (["--bulk-files", str(tmp_path / "files")], "exists already"),
        (["--bulk", "--pipeline", "csv"], "standard records"), (["--spark"], "Spark writes import files"),
        (["--bulk-files", "x", "--resume", "1"], "no dry run"),
    ):
        refused = gprov(*args)
        assert (refused.exit_code, told in refused.stderr) == (2, True), refused.stderr
    with pytest.raises(InputError, match="no dry run"):
        bulk(tmp_path, [Path(sample)], dry_run=True)
    with pytest.raises(InputError, match="is an input file"):
        bulk(tmp_path, [tmp_path / "order.toml"], rejects=tmp_path / "order.toml")
