"""JUnit XML, as continuous integration reads it.

Owns: the document. Leaves to others: what is a failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its name, and why it failed (None: it did not)."""

    name: str
    failure: str | None = None
    details: str = ""


def junit(suite: str, cases: Sequence[Case], seconds: float) -> str:
    """One suite as an XML document; a character that XML cannot hold stands as its escape."""
    counts = {"tests": str(len(cases)), "failures": str(sum(case.failure is not None for case in cases))}
    root = ElementTree.Element("testsuites", counts)
    inner = ElementTree.SubElement(
        root, "testsuite", {"name": _xml(suite), **counts, "errors": "0", "skipped": "0", "time": f"{seconds:.3f}"})
    for case in cases:
        one = ElementTree.SubElement(inner, "testcase", {"classname": _xml(suite), "name": _xml(case.name)})
        if case.failure is not None:
            ElementTree.SubElement(one, "failure", {"message": _xml(case.failure)}).text = _xml(case.details)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    return _NOT_XML.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)
