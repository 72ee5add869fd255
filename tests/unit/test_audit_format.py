"""docs/audit.md says everything that somebody needs who computes the digests anew: it is held against a writer made from its text,
against the verifier beside it and against the product."""

from __future__ import annotations

import hashlib
import json
import math
import re
from decimal import Decimal
from typing import Any

import pytest
from corpus.chains import ROOT, independent
from hypothesis import example, given
from hypothesis import strategies as st

from graphrag_provenance.model.identifiers import canonical_json
from graphrag_provenance.rules.digests import HASH_BYTES, RUN_DIGEST_FIELDS, graph_hash, multiset, run_digest
from graphrag_provenance.rules.edges import _HASHED, Citation, assertion_digest
from graphrag_provenance.rules.statements import _CONTENT, node_digest

TEXT = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
VERIFY = independent()


def block(name: str) -> str:
    """A fenced block of the document."""
    found = re.search(rf"^```{name}\n(.*?)\n```$", TEXT, re.DOTALL | re.MULTILINE)
    assert found is not None, name
    return found[1]


def number(value: float) -> str:
    """A floating-point number by the words of the document, without the language's own shortest form."""
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, exact = "-" if value < 0 else "", Decimal(abs(value))
    for length in range(1, 18):
        step = Decimal(1).scaleb(exact.adjusted() - length + 1)
        near = [((exact / step).to_integral_value(rounding) * step).normalize() for rounding in ("ROUND_FLOOR", "ROUND_CEILING")]
        same = [one for one in near if one and float(one) == abs(value)]
        if same:
            break
    best = min(same, key=lambda one: abs(one - exact))
    digits, exponent = "".join(map(str, best.as_tuple().digits)), best.adjusted()
    if -4 <= exponent < 16:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        whole = digits.ljust(exponent + 1, "0")
        return f"{sign}{whole[:exponent + 1]}.{whole[exponent + 1:] or '0'}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def string(value: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(short.get(c, f"\\u{ord(c):04x}" if ord(c) < 0x20 else c) for c in value) + '"'


def written(value: Any) -> str:
    """Canonical JSON by the words of the document."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: [ord(c) for c in name])
        return "{" + ",".join(f"{string(name)}:{written(value[name])}" for name in names) + "}"
    return "[" + ",".join(map(written, value)) + "]"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12)


@given(VALUES)
@example({"\U0001f600": 1, "\ufb01": 2, "\uffff": 3, "e\u0301": 4, "\u00e9": 5, "": 6})
@example(["\u2028\u2029\x7f\x00\x1f/\\\"\ufeff", 2**53 + 1, -(10**40), 1e16, 9999999999999998.0, 1e-4, 9.999e-5, 5e-324])
@example([2.0**n for n in (-1074, -1022, -44, 53, 54, 1023)] + [9007199254740993.0, 1.7976931348623157e308, -0.0, 0.0])
def test_canonical_json_is_what_the_document_says(value: Any) -> None:
    assert canonical_json(value) == written(value).encode() == VERIFY.canonical(value)
    assert canonical_json(json.loads(canonical_json(value))) == canonical_json(value)


@given(VALUES, VALUES)
def test_two_values_have_two_canonical_forms(one: Any, other: Any) -> None:
    assert (canonical_json(one) == canonical_json(other)) == (repr_of(one) == repr_of(other))


def repr_of(value: Any) -> Any:
    """What tells values apart: types too (1, 1.0 and true are three), but not the order of names."""
    if isinstance(value, dict):
        return "object", sorted((name, repr_of(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", [repr_of(item) for item in value]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [math.nan], "\ud800", {"\udfff": 1}])
def test_what_has_no_canonical_form_is_an_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON compliant|surrogates"):
        canonical_json(value)


def test_the_vectors_of_the_document_hold() -> None:
    lines = block("text vectors").split("\n")
    assert len(lines) > 20
    for line in lines:
        text, _, canonical = line.partition(" ⇒ ")
        assert canonical_json(json.loads(text)).decode() == written(json.loads(text)) == canonical, line


def test_the_run_of_the_document_gives_its_digest() -> None:
    run = json.loads(block("json run"))
    assert tuple(run) == (*RUN_DIGEST_FIELDS, "digest")
    canonical = block("text run")
    assert canonical == written({name: value for name, value in run.items() if name != "digest"})
    assert run["digest"] == "sha256:" + hashlib.sha256(canonical.encode()).hexdigest() == run_digest(run) == VERIFY.digest(run)
    listed = re.search(r"where there is no value:\n(.*?)\.\n", TEXT, re.DOTALL)
    assert listed is not None
    assert re.findall(r"`(\w+)`", listed[1]) == list(RUN_DIGEST_FIELDS)


def test_the_records_of_the_document_give_their_digests_and_the_graph_hash() -> None:
    document, first, chunk, second, total = block("text records").split("\n")
    for text, digest in ((document, first), (chunk, second)):
        kind, content = json.loads(text)
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        assert node_digest(kind, dict(zip(_CONTENT[kind], content, strict=True))).hex() == digest
    digests = [bytes.fromhex(first), bytes.fromhex(second)]
    summed = sum(int.from_bytes(hashlib.shake_128(one).digest(512), "little") for one in digests) % 2**4096
    assert total == "sha256:" + hashlib.sha256(summed.to_bytes(512, "little")).hexdigest() == multiset(digests).graph_hash()
    assert json.loads(block("json run"))["graph_hash"] == total
    assert graph_hash(bytes(HASH_BYTES)) == "sha256:" + hashlib.sha256(bytes(512)).hexdigest()


def test_the_contents_of_the_document_are_those_that_are_hashed() -> None:
    rows = {kind: re.findall(r"\w+", cell) for kind, cell in re.findall(r"^\| `(\w+)` \| ([a-z_0-9, ]+) \|$", TEXT, re.MULTILINE)}
    assert rows == {kind: list(names) for kind, names in _CONTENT.items()}
    edge = re.search(r"^\| `assertion` \| \[(.*?)\], \[(.*?)\], \[(.*?)\], .*\[(.*?)\] \|$", TEXT, re.MULTILINE)
    assert edge is not None
    stated, instants, lists, item = (part.split(", ") for part in edge.groups())
    assert (tuple(stated), tuple(item)) == (_HASHED, Citation._fields)
    node = {name: f"<{name}>" for name in (*stated, *lists)}
    one = Citation("d@1", "c", None, (1, 2), "supports", None, None, 0.5, None, None)
    content = ["assertion", [[node[name] for name in stated], [None for _ in instants], [node[name] for name in lists],
                             [written(list(one))]]]
    assert assertion_digest(node, [one]) == hashlib.sha256(written(content).encode()).digest()


def test_the_independent_verifier_stays_short_and_needs_nothing() -> None:
    text = (ROOT / "docs" / "verify_export.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)) == {"hashlib", "json", "sys"}
