"""Quotes against the text in the store: as a report for a reader, and as a load option (spec 4, quotes)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cypher
from corpus.records import TENANT, Record, Store, check_sound, chunk, cites, document, edge, revision, sha256
from corpus.worlds import reader

from graphrag_provenance.errors import InputError, NotFoundError
from graphrag_provenance.ingest.quoting import QuoteMode
from graphrag_provenance.ingest.reports import read_reports
from graphrag_provenance.model.reports import QuoteReport
from graphrag_provenance.rules.quotes import quote_hash
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.quotes import verify_all_quotes, verify_edge_quotes, verify_quotes, verify_revision_quotes

TEXT = "SYS_A depends on SYS_B\u2009\u2014\u2009within 30 days."
QUOTE = "SYS_A depends on SYS_B"
LOW, HIGH = reader(TENANT, "internal"), reader(TENANT, "secret")


@pytest.fixture
def store(fresh_database: Database, cypher: Cypher, tmp_path: Path) -> Store:
    return Store(fresh_database, cypher, tmp_path)


def passage(doc: str, name: str, text: str | None, **more: Any) -> Record:
    return chunk(doc, name, text=text, content_sha256=sha256(text or "elsewhere"), **more)


def sources(doc: str = "d@1", policy: str = "internal") -> list[Record]:
    """A document with two passages that have text, and one that has none."""
    return [document(doc.rpartition("@")[0], policy=policy), revision(doc), passage(doc, "c1", TEXT),
            passage(doc, "c2", "Another passage, not that one at all."), passage(doc, "c3", None)]


def quoting(edge_id: str, *items: Record, **more: Any) -> Record:
    return edge("System:" + edge_id, "depends_on", "System:B", *items, edge_id=edge_id, **more)


EXACT = cites("d@1#c1", quote_hash=sha256(QUOTE), span=[0, 22])
NORMALISED = cites("d@1#c1", quote_hash=quote_hash("SYS_B - within 30 days"), span=[17, len(TEXT) - 1])
WRONG_NUMBER = cites("d@1#c1", quote_hash=quote_hash("SYS_B - within 31 days"), span=[17, len(TEXT) - 1])
ELSEWHERE = cites("d@1#c2", quote_hash=sha256(QUOTE), span=[0, 22])
NO_TEXT = cites("d@1#c3", quote_hash=sha256("never seen"), span=[0, 10])
NO_SPAN = cites("d@1#c1", quote_hash=sha256(QUOTE))
NO_QUOTE = cites("d@1#c1")
ALL = {"exact": EXACT, "normalised": NORMALISED, "absent": WRONG_NUMBER, "quote-not-in-chunk": ELSEWHERE, "no-text": NO_TEXT,
       "no-span": NO_SPAN, "no-quote": NO_QUOTE}  # fmt: skip


def grades(report: Record) -> dict[str, str]:
    return {one.get("edge_id") or one["id"]: one["grade"] for one in report["quotes"]}


def test_each_stored_quote_gets_its_grade(store: Store) -> None:
    store.load(*sources(), *(quoting(grade, item) for grade, item in ALL.items()))
    report = verify_revision_quotes(store.database, LOW, "d@1")
    assert grades(report) == {grade: grade for grade in ALL}
    assert report["counts"] == dict.fromkeys(ALL, 1)
    assert not report["ok"]
    (moved,) = [one for one in report["quotes"] if one["grade"] == "quote-not-in-chunk"]
    assert (moved["found_in"], moved["found_at"]) == ("c1", [0, 22])
    assert [verify_edge_quotes(store.database, LOW, grade)["quotes"][0]["grade"] for grade in ALL] == list(ALL)
    everything = verify_all_quotes(store.database, LOW)
    assert (everything["counts"], set(grades(everything))) == (report["counts"], {"absent", "quote-not-in-chunk", "no-text", "no-span"})


def test_a_reader_verifies_only_what_it_may_see(store: Store) -> None:
    store.load(*sources(), *sources("s@1", "secret"), quoting("open", EXACT), quoting("hidden", cites("s@1#c1", quote_hash=sha256("x"))))
    assert verify_all_quotes(store.database, LOW)["counts"] == dict.fromkeys(ALL, 0) | {"exact": 1}
    assert verify_all_quotes(store.database, HIGH)["counts"] == dict.fromkeys(ALL, 0) | {"exact": 1, "no-span": 1}
    for look, hidden, absent in ((verify_edge_quotes, "hidden", "nowhere"), (verify_revision_quotes, "s@1", "t@1")):
        told = []
        for name in (hidden, absent):
            with pytest.raises(NotFoundError) as caught:
                look(store.database, LOW, name)
            told.append(str(caught.value).replace(name, "X"))
        assert told[0] == told[1]


def test_words_are_looked_for_only_where_the_reader_may_read(store: Store) -> None:
    store.load(*sources(), *sources("s@1", "secret"), passage("d@1", "c4", "Locked words.", policy="secret"),
               document("silent"), revision("silent@1"), passage("silent@1", "c1", TEXT))
    told = [QuoteReport(id=name, doc=doc, chunk=where, quote=quote) for name, doc, where, quote in (
        ("exact", "d@1", "c1", QUOTE), ("normalised", "d@1", "c1", "SYS_B - within 30 days."), ("absent", "d@1", "c1", "within 31 days"),
        ("moved", "d@1", "c2", QUOTE), ("nowhere", "d@1", "c9", QUOTE + "?"), ("locked-sibling", "d@1", "c2", "Locked words"),
        ("locked", "s@1", "c1", QUOTE), ("unstated", "silent@1", "c1", QUOTE))]
    expected = {"exact": "exact", "normalised": "normalised", "absent": "absent", "moved": "quote-not-in-chunk", "nowhere": "no-text",
                "locked-sibling": "absent", "locked": "no-text", "unstated": "no-text"}
    assert grades(verify_quotes(store.database, LOW, told)) == expected
    cleared = grades(verify_quotes(store.database, HIGH, told))
    assert cleared == expected | {"locked-sibling": "quote-not-in-chunk", "locked": "exact"}


@pytest.mark.parametrize("name", ["quote.page", "quote.of_revision"])
def test_each_stored_query_refuses_by_itself(store: Store, name: str) -> None:
    store.load(*sources(), *sources("s@1", "secret"), quoting("open", EXACT), quoting("hidden", EXACT, cites("s@1#c1")))
    page = {"after": "", "limit": 10} if name == "quote.page" else {"doc": "d@1"}
    found = [[row["assertion"]["edge_id"] for row in store.database.read(name, tenant=TENANT, allowed=allowed, granted=[], **page)]
             for allowed in (["internal"], ["internal", "secret"], [])]
    assert found == [["open"], ["hidden", "open"], []]


def test_looking_for_misplaced_quotes_is_bounded_and_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.load(*sources(), quoting("moved", ELSEWHERE))
    assert not verify_edge_quotes(store.database, LOW, "moved")["truncated"]
    monkeypatch.setattr("graphrag_provenance.store.quotes._Effort.__init__.__defaults__", (1, False))
    report = verify_edge_quotes(store.database, LOW, "moved")
    assert (report["truncated"], report["quotes"][0]["grade"]) == (True, "absent")


@pytest.mark.parametrize(("mode", "loaded", "codes"), [
    (QuoteMode.OFF, set(ALL), {}),
    (QuoteMode.WARN, set(ALL), {}),
    (QuoteMode.STRICT, {"exact", "normalised", "no-quote"}, {"quote-absent": 2, "quote-unverifiable": 2}),
])
def test_a_load_may_count_or_refuse_what_is_not_proved(store: Store, mode: QuoteMode, loaded: set[str], codes: dict[str, int]) -> None:
    records = [*sources(), *(quoting(grade, item) for grade, item in ALL.items())]
    for dry in (True, False):
        summary = store.load(*records, verify_quotes=mode, dry_run=dry)
        assert summary.rejected == codes
        counted = Counter({"absent" if grade == "quote-not-in-chunk" else grade: 1 for grade in ALL})
        counted["absent"] = 2
        assert summary.as_json()["quotes"] == ({} if mode is QuoteMode.OFF else dict(counted))
    assert set(store.published()) == loaded
    assert {json.loads(reject["record"])["edge_id"] for reject in store.rejects(summary)} == set(ALL) - loaded
    check_sound(store)


def test_one_unproved_quote_refuses_the_whole_edge_and_a_second_load_writes_nothing(store: Store) -> None:
    records = [*sources(), quoting("mixed", EXACT, WRONG_NUMBER), quoting("good", EXACT)]
    store.load(*records, verify_quotes=QuoteMode.STRICT)
    assert set(store.published()) == {"good"}
    again = store.load(*records, verify_quotes=QuoteMode.STRICT)
    assert (again.rejected, again.outcome.writes.total) == ({"quote-absent": 1}, 0)


def test_what_was_loaded_unchecked_is_checked_when_the_mode_changes(store: Store) -> None:
    records = [*sources(), quoting("wrong", WRONG_NUMBER)]
    store.load(*records)
    assert store.load(*records, verify_quotes=QuoteMode.STRICT).rejected == {"quote-absent": 1}


def test_text_that_arrives_behind_the_edge_in_the_same_load_counts(store: Store) -> None:
    summary = store.load(quoting("good", EXACT), *reversed(sources()), verify_quotes=QuoteMode.STRICT)
    assert not summary.rejected


# As in a sample that a GraphRAG tool ships: claims with the sentences that an extractor says it found in its unit.
UNIT = ('The device hummed — a low pulse. "Move out," they said,\nwith a nod of\n\nassent. The fourth unit held 40 crates; '
        "the crew of 12 left at dawn. Nobody spoke.")
CLAIMS = {
    "exact": ['"Move out," they said', "Nobody spoke.", "the crew of 12 left at dawn", "The device hummed — a low pulse."],
    "normalised": ["with a nod of assent."],
    "absent": ["The device hummed ... Nobody spoke.", '"Nobody spoke."', "\"'Move out,' they said\"", "the crew of 13 left at dawn",
               "The device hummed — a low pulse. Nobody spoke.", "held 4", "nobody spoke."],
}


def test_an_extractors_quotes_are_told_apart(store: Store) -> None:
    store.load(document("book", policy="public"), revision("book@1"), passage("book@1", "unit", UNIT), passage("book@1", "other", "x"))
    told = [QuoteReport(id=f"{grade} {n}", doc="book@1", chunk="unit", quote=quote)
            for grade, quotes in CLAIMS.items() for n, quote in enumerate(quotes)]
    found = grades(verify_quotes(store.database, LOW, told))
    assert found == {name: name.partition(" ")[0] for name in found}


@pytest.mark.parametrize(("content", "told"), [
    ("", "holds nothing"), ("[1]", "no JSON object"), ('{"doc": "d@1"', "is not JSON"), ('{"doc": "d@1", "chunk": "c"}', "quote"),
    ('{"doc": "d", "chunk": "c", "quote": "q"}', "doc@version"), ('{"doc": "d@1", "chunk": "c", "quote": "q", "x": 1}', "x:"),
    ('{"doc": "d@1", "chunk": "c", "quote": "q", "quote": "r"}', "uplicate"),
    ('{"doc": "d@1", "chunk": "c", "quote": "q"}\n\n{"doc": 1}', ":3:"),
])  # fmt: skip
def test_a_bad_report_file_is_refused_with_its_place(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "quotes.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_reports(file, QuoteReport)
    assert told in str(caught.value)
    assert str(file) in str(caught.value)


