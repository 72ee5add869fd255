"""GraphML as rows: what NetworkX and the tools on it write (spec 5, "Pipelines").

Owns: the columns. Reads in a stream. A document type, and with it every entity of XML, is refused: nothing is expanded or fetched.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from graphrag_provenance.errors import InputError

COLUMNS = {"element": "VARCHAR", "id": "VARCHAR", "source": "VARCHAR", "target": "VARCHAR", "data": "MAP(VARCHAR, VARCHAR)"}
"""`element` is `node` or `edge`; `data` has the values by their declared names, each as text."""
_BLOCK = 1 << 20


class _Reader:
    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._names: dict[str, str] = {}
        self._row: dict[str, Any] | None = None
        self._key: str | None = None
        self._text: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _doctype(self, *_: object) -> None:
        raise ValueError("it has a document type, which GraphML does not need")

    def _start(self, tag: str, found: dict[str, str]) -> None:
        tag = tag.rpartition(" ")[2]
        if tag == "key":
            self._names[found["id"]] = found.get("attr.name", found["id"])
        elif tag in ("node", "edge"):
            self._row = {"element": tag, **{name: found.get(name) for name in ("id", "source", "target")}, "data": {}}
        elif tag == "data" and self._row is not None:
            self._key, self._text = found["key"], []

    def _characters(self, text: str) -> None:
        if self._key is not None:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(" ")[2]
        if tag == "data" and self._row is not None and self._key is not None:
            self._row["data"][self._names.get(self._key, self._key)] = "".join(self._text)
            self._key = None
        elif tag in ("node", "edge") and self._row is not None:
            self._out.write(json.dumps(self._row).encode() + b"\n")
            self._row = None


def graphml_rows(path: Path, out: BinaryIO) -> None:
    """Write each node and edge of the file as one JSON object a line. Raises InputError with the line for what is no GraphML."""
    reader = _Reader(out)
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                reader.parser.Parse(block, False)
        reader.parser.Parse(b"", True)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (expat.ExpatError, KeyError, ValueError) as error:
        told = f"a key lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path} is no GraphML: line {reader.parser.CurrentLineNumber}: {told}.") from None
