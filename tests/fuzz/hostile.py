"""Hostile values: text, JSON and bytes, and valid input spoilt by them."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

NASTY = [
    "", " ", "\t", "\n", "\r\n", "\u2028", "\ufeff", "\u200b", "\u202eRTL", "a\u0301", "\u0430", "\U0001f469\u200d\U0001f4bb",
    "\x1b[31mred\x1b[0m", "\x07", "\x7f", "\x85", "'", '"', "\\", "`", "--", "-", "..", "../../etc/passwd", "/etc/passwd", "/dev/null",
    "%s", "%(x)s", "{0}", "{}", "${HOME}", "$(id)", "<script>alert(1)</script>", "[red]x[/red]", "' OR 1=1 //", "` DETACH DELETE n //",
    "}) DETACH DELETE n //", "<SEP>", "a,b", "a|b", "a#b", "a@b", "@", "#", "a@", "@1", "d@1@2", "x:y:z", ":", "System:", ":A", "0",
    "-1", "1.5", "NaN", "Infinity", "1e999", "9" * 30, "\u0663", "true", "null", "None", "2026-02-30T00:00:00Z", "0000-00-00",
    "9999-12-31T23:59:60Z", "+00:00", "sha256:", "sha256:" + "z" * 64, "public", "internal", "System:checkout-api", "x" * 3_000,
    "\u0301" * 300, "a\x00b", "\ud800", "\udcff", "CON", "a/b", "*", "?", "[", "(", "~", "file:///etc/passwd", "http://127.0.0.1:1/",
    "bolt://127.0.0.1:1",
]
TEXT = st.one_of(st.sampled_from(NASTY), st.text(max_size=12))
NUMBERS: list[Any] = [0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**40, 0.5, -0.0, 1.2, 1e308, float("nan"), float("inf"), float("-inf")]
SCALARS = st.one_of(TEXT, st.sampled_from([None, True, False, *NUMBERS]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)), max_leaves=6)
_DAMAGES = [*[None] * 6, "cut", "insert", "bom", "crlf", "utf16", "gzip", "gzip cut", "double", "deep", "digits", "empty", "latin"]
_MARKS = [
    "[", "]", "{", "}", "=", "[[a]]", "-1", "1e400", "9" * 400, "nan", "inf", "'''", '"""', "#", "2026-01-01",
    "1979-05-27T07:32:00Z", "true"]
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_][A-Za-z0-9_.-]*|-?\d[\d.]*|[\[\]{}=,:$*()]')


def arguable(text: str) -> str:
    """The text as an argument of a command can hold it: no NUL, and only those lone surrogates that stand for bytes."""
    return re.sub("[\ud800-\udc7f\udd00-\udfff]", "?", text.replace("\0", "?"))


def nested(depth: int, opening: str, closing: str) -> str:
    """Something within something within something."""
    return opening * depth + "1" + closing * depth


@st.composite
def spoilt(draw: Callable[..., Any], value: Any) -> Any:
    """A JSON value with up to three places changed: replaced, removed, doubled, renamed."""
    copy = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(0, 3))):
        holder, place = _place(draw, copy)
        if holder is None:
            copy = draw(VALUES)
            continue
        what = draw(st.sampled_from(["replace", "replace", "remove", "add", "wrap"]))
        if what == "replace":
            holder[place] = draw(VALUES)
        elif what == "remove":
            del holder[place]
        elif what == "wrap":
            holder[place] = [holder[place]]
        elif isinstance(holder, dict):
            holder[draw(TEXT)] = draw(VALUES)
        else:
            holder.append(draw(VALUES))
    return copy


def _place(draw: Callable[..., Any], value: Any) -> tuple[Any, Any]:
    """Somewhere in a value: what holds it, and under which name."""
    holder, place = None, None
    while isinstance(value, (dict, list)) and value and (holder is None or draw(st.booleans())):
        holder, place = value, draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        value = value[place]
    return holder, place


def as_json(value: Any) -> bytes:
    """JSON, NaN and lone surrogates included as Python writes them."""
    return json.dumps(value).encode()


@st.composite
def damaged(draw: Callable[..., Any], data: bytes) -> bytes:
    """Bytes as they come from a broken disk, a wrong encoding or another program; mostly as they were."""
    how = draw(st.sampled_from(_DAMAGES))
    at = draw(st.integers(0, max(len(data), 1)))
    if how == "cut":
        return data[:at]
    if how == "insert":
        return data[:at] + draw(st.binary(min_size=1, max_size=4)) + data[at:]
    if how == "bom":
        return b"\xef\xbb\xbf" + data
    if how == "crlf":
        return data.replace(b"\n", b"\r\n")
    if how == "utf16":
        return data.decode("utf-8", "replace").encode("utf-16")
    if how == "gzip":
        return gzip.compress(data)
    if how == "gzip cut":
        return gzip.compress(data)[: max(at // 2, 5)]
    if how == "double":
        return data.replace(b'"kind"', b'"kind":"edge","kind"', 1) if b'"kind"' in data else data + data
    if how == "deep":
        marks = draw(st.sampled_from([("[", "]"), ('{"a":', "}")]))
        return data[:at] + nested(draw(st.sampled_from([50, 5_000])), *marks).encode() + data[at:]
    if how == "digits":
        return re.sub(rb"\d+", b"1" * 5_000, data, count=1)
    if how == "latin":
        return data.replace(b"a", b"\xe4", 1)
    return b"" if how == "empty" else data


@st.composite
def retyped(draw: Callable[..., Any], text: str) -> bytes:
    """A text file (TOML, SQL, JSON lines) with some of its tokens changed, then damaged."""
    for _ in range(draw(st.integers(1, 2))):
        tokens = list(_TOKEN.finditer(text))
        if not tokens:
            break
        one = draw(st.sampled_from(tokens))
        quoted = json.dumps(draw(TEXT), ensure_ascii=False)
        put = draw(st.one_of(
            st.just(quoted), st.just(""), TEXT, st.just(one[0] + " " + one[0]), st.just(json.dumps(draw(VALUES))),
            st.sampled_from(_MARKS)))
        text = text[: one.start()] + put + text[one.end():]
    return draw(damaged(text.encode("utf-8", "surrogatepass")))
