"""Evidence as a page shows it: each citation with the words it cites, where the reader may read them.

Owns: how a passage is cut around its quote, and that a quote is checked against the text at hand. Leaves to others: which citations
and texts there are for the reader (`store`), what a check finds (`rules.quotes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.rules.quotes import check_hash
from graphrag_provenance.store.page_lookups import Place, passage_texts

Json = dict[str, Any]


def with_texts(service: Service, reader: Reader, items: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The citations, each with `passage` (the words before, in, and after its quote; None where there are none to show) and `grade`."""
    cited = list(items)
    texts = passage_texts(service.database, reader, [(one["doc"], one["chunk"]) for one in cited], access=service.access)
    return [_with_text(one, texts) for one in cited]


def _with_text(item: Mapping[str, Any], texts: Mapping[Place, str]) -> Json:
    text, span = texts.get((item["doc"], item["chunk"])), item["span"]
    grade = check_hash(item["quote_hash"], None if span is None else (span[0], span[1]), text).grade
    passage = None
    if text is not None:
        start, end = (0, 0) if span is None else (min(span[0], len(text)), min(span[1], len(text)))
        passage = {"before": text[:start], "quote": text[start:end], "after": text[end:]}
    return {**item, "passage": passage, "grade": grade.value}


def paths_with_texts(service: Service, reader: Reader, paths: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Paths whose steps' citations have their texts; one look-up for all of them."""
    filled = iter(with_texts(service, reader, (item for path in paths for step in path["steps"] for item in step["evidence"])))
    return [{**path, "steps": [{**step, "evidence": [next(filled) for _ in step["evidence"]]} for step in path["steps"]]} for path in paths]


def standing(step: Mapping[str, Any]) -> str:
    """How an edge or step stands, in one word: `disputed`, `stale` or `current`."""
    refuted = any(item["polarity"] == "refutes" for item in step.get("evidence", ()))
    return "disputed" if refuted or step.get("disputed") else "current" if step["current"] else "stale"
