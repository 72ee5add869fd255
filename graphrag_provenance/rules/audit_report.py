"""What an audit of the chain of runs says, and the head that somebody keeps outside the store (spec 3, tamper evidence).

Owns: the verdicts, the shape of a report, how a head is written, and which fields of a run are exported. Leaves to others: how
a verdict is reached (`rules.auditing`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from graphrag_provenance.errors import InputError
from graphrag_provenance.notation import parse_json
from graphrag_provenance.rules.digests import RUN_DIGEST_FIELDS

Entry = Mapping[str, Any]
_SHA = r"sha256:[0-9a-f]{64}"
_SHORT = re.compile(rf"(?P<digest>{_SHA})@(?P<seq>[1-9][0-9]{{0,17}})")
_LINE = re.compile(rf"(?P<seq>[1-9][0-9]{{0,17}}) (?P<digest>{_SHA})(?: graph (?P<graph>{_SHA}))?")


class Verdict(StrEnum):
    """What was done to the chain. Stable codes."""

    CHANGED = "changed"
    """An entry is not what it was when its run ended."""
    MISSING = "missing"
    """An entry before the last is gone."""
    DUPLICATED = "duplicated"
    """An entry is there a second time, under its own or another number."""
    CUT = "cut"
    """The end of the chain is gone: the store's record, or a head kept outside, names a later run."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that was done, and to which entries."""

    verdict: Verdict
    seq: int | None
    """The first run concerned; None for the store's own record, or an entry without a number."""
    last: int | None
    """The last run concerned: the same, but for a gap."""
    message: str

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return {"verdict": self.verdict.value, "seq": self.seq, "last": self.last, "message": self.message}


@dataclass(frozen=True, slots=True)
class Head:
    """The last ended run, as somebody may keep it outside the store."""

    seq: int
    digest: str
    graph_hash: str | None = None

    def line(self) -> str:
        """`SEQ sha256:… graph sha256:…`, the line of `audit head`."""
        return f"{self.seq} {self.digest}" + (f" graph {self.graph_hash}" if self.graph_hash else "")

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return {"seq": self.seq, "digest": self.digest, "graph_hash": self.graph_hash}


def parse_head(text: str, place: str | None = None) -> Head:
    """`sha256:…@SEQ`, or what `audit head` printed, as a line or as JSON. Raises InputError that says how to write it; `place` is the
    file that the text is from."""
    written = text.strip().removeprefix("\ufeff")
    match = _SHORT.fullmatch(written) or _LINE.fullmatch(written) or _LINE.fullmatch(_line_of_json(written))
    if match is None:
        said = f"{place} holds no head." if place else f"'{text}' is not a head."
        raise InputError(said, hint="Write sha256:DIGEST@SEQ, or what gprov audit head printed, as a line or as JSON.")
    return Head(int(match["seq"]), match["digest"], match.groupdict().get("graph"))


def _line_of_json(text: str) -> str:
    """The line that the JSON of `audit head` stands for; "" for anything else."""
    try:
        value = parse_json(text)
    except ValueError:
        return ""
    if not isinstance(value, dict) or type(value.get("seq")) is not int or not isinstance(value.get("digest"), str):
        return ""
    graph = value.get("graph_hash")
    return f"{value['seq']} {value['digest']}" + ("" if graph is None else f" graph {graph}")


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit of the chain read and found."""

    runs: int
    running: int | None
    """The run under way, which has no digest yet. That is no fault."""
    head: Head | None
    """The last ended run that stands as it was written."""
    heads: tuple[Head, ...]
    """The heads kept outside that the chain was held against."""
    faults: tuple[Fault, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.faults

    def as_json(self) -> dict[str, Any]:
        """The documented JSON."""
        return {
            "schema": 1, "ok": self.ok, "runs": self.runs, "running": self.running,
            "head": None if self.head is None else self.head.as_json(), "heads": [head.as_json() for head in self.heads],
            "faults": [fault.as_json() for fault in self.faults],
        }


def exported(entry: Entry) -> dict[str, Any]:
    """A run in exactly the fields that its digest covers, and the digest."""
    return {name: entry.get(name) for name in (*RUN_DIGEST_FIELDS, "digest")}
