"""Files for `neo4j-admin database import full` (spec 5, exports; spec 6, bulk load).

Owns: the columns of each file, which are the properties of docs/data-model.md, and how a value is written so that it comes back as it
was. Two things such files cannot say, an empty list and a list of one empty text: they are named in the column `import_lists`, and
`store.migrations` makes them. Leaves to others: running the import (`server.admin`), the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from graphrag_provenance.errors import InputError, StoreError
from graphrag_provenance.model.instants import format_instant
from graphrag_provenance.notation import parse_json
from graphrag_provenance.store.exporting import Everything
from graphrag_provenance.store.import_lists import MARKER

MANIFEST = "manifest.json"
ARGUMENTS = "import.args"
DELIMITERS = ("\x1f", "\x1e", "\ue000", "\ue001", "\uf8fe", "\uf8ff")
"""What may part the elements of a list: the first that no element holds."""
_LEAST_BUFFER = 4 << 20
_BYTES = [str(byte - 256 if byte > 127 else byte) for byte in range(256)]
"""Bytes are signed there."""
_byte = _BYTES.__getitem__


def _columns(text: str) -> dict[str, str]:
    """Property → type; a text unless it says otherwise."""
    return {name: kind or "string" for name, _, kind in (word.partition(":") for word in text.split())}


_RECORD = "tenant since:long digest:byte[] records:byte[] stated:long "
_SCOPE = "environment region valid_from:datetime valid_to:datetime "
_SAID = "policies:string[] acl:string[] registered:boolean "
NODES: dict[str, dict[str, str]] = {label: _columns(text) for label, text in {
    "Document": _RECORD + "doc_id title source_type policies:string[] attributes registered:boolean head line:string[] whole "
                          "tombstones:string[] changed:long",
    "Revision": _RECORD + _SAID + "doc doc_id version effective_at:datetime supersedes source_url content_sha256 ingested_at:datetime "
                                  "complete:boolean arrival:long changed:long",
    "Chunk": _RECORD + _SAID + "doc chunk section_path:string[] ordinal:long text has_text:boolean purged:long content_sha256 "
                               "chunker_version point_id changed:long",
    "Entity": _RECORD + "type id name names:string[] policies:string[] attributes declared:boolean changed:long merged_into",
    "Alias": _RECORD + "alias_id type id lookup alias method linker linker_version",
    "Assertion": _RECORD + _SAID + _SCOPE + "edge_id relation source_type source_id target_type target_id declared:string[] attributes "
                                            "state reasons:string[] confidence:double current:boolean disputed:boolean changed:long "
                                            "merged_into derived_id",
    "Run": "seq:long run_id trace_id actor kind pipeline version started_at:datetime finished_at:datetime status counts inputs "
           "policies_hash order graph_hash previous digest resumes:long settled:long",
    "Staged": "number:long source:long file content:byte[]",
    "RecordedAnswer": "tenant answer_id trace_id principal at:datetime generation:long graph_hash content report content_digest since:long",
    "RecordedStep": "tenant answer_id edge_id",
    "RecordedRetrieval": "tenant retrieval_id trace_id principal at:datetime generation:long place:long content content_digest since:long",
    "Store": "id head_seq:long sum:byte[] graph_hash policies policies_hash policies_next digest touched:datetime writer_seq:long "
             "staged:long",
}.items()}
NODES |= {f"Past-{label.lower()}": _columns("kind key from_run:long to_run:long") | NODES[label]
          for label in ("Document", "Revision", "Chunk", "Entity", "Alias", "Assertion")}
"""Label → columns. What a record was has the columns of that kind, in a file of its own: `declared` is a list here and a yes there."""
RELATIONSHIPS: dict[str, dict[str, str]] = {kind: _columns(text) for kind, text in {
    "HAS_REVISION": "", "HAS_CHUNK": "", "NAMES": "", "HAS_RECORDED_STEP": "", "HOLDS": "",
    "EVIDENCED_BY": "quote_hash span:long[] polarity policy acl confidence:double pipeline version since:long until:long dropped:long",
    "EDGE": _SCOPE + "edge_id tenant policies:string[] acl:string[] confidence:double current:boolean disputed:boolean evidence:string[]",
}.items()}
"""Type → columns; EDGE stands for every type of a published edge."""


class DelimiterFoundError(InputError):
    """An element of a list holds the character that was to part elements; another one is taken."""

    code = "delimiter-found"


class _File:
    """One file: rows of one kind of node or relationship."""

    __slots__ = ("_at", "_blank", "_columns", "_delimiter", "_kind", "_out", "longest", "rows")

    def __init__(self, out: TextIO, kind: str, fixed: int, columns: Mapping[str, str], delimiter: str) -> None:
        self._out, self._kind, self._columns, self._delimiter = out, kind, columns, delimiter
        self._at = {name: fixed + place for place, name in enumerate(columns)}
        self._blank = [""] * (len(columns) + 1)
        self.rows = self.longest = 0

    def write(self, fixed: list[str], properties: Mapping[str, Any]) -> None:
        """One row: cells that are texts already, then what there is of the columns."""
        cells = fixed + self._blank
        at, unsaid = self._at, None
        for name, value in properties.items():
            if name not in at:
                raise StoreError(f"{self._kind} has a property '{name}', which the data model has not.", hint="See: gprov verify.")
            kind = type(value)
            if kind is str:
                cells[at[name]] = '"' + value.replace('"', '""') + '"'
            elif kind is list:
                if not value or value == [""]:
                    unsaid = [*(unsaid or ()), name + "=" * len(value)]
                else:
                    cells[at[name]] = self._list(value)
            elif kind is bytes:
                cells[at[name]] = self._delimiter.join(map(_byte, value))
            elif kind is int or kind is float:
                cells[at[name]] = repr(value)
            elif value is not None:
                cells[at[name]] = self._cell(value)
        if unsaid is not None:
            cells[-1] = self._list(sorted(unsaid))
        row = ",".join(cells) + "\n"
        self.rows += 1
        if len(row) > self.longest:
            self.longest = len(row)
        self._out.write(row)

    def _list(self, value: list[Any]) -> str:
        text = self._delimiter.join(value if type(value[0]) is str else map(str, value))
        if text.count(self._delimiter) != len(value) - 1:
            raise DelimiterFoundError(f"A list holds the character U+{ord(self._delimiter):04X}.", hint="Another one is to part lists.")
        return _quoted(text)

    def _cell(self, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, datetime):
            return format_instant(value)
        return _quoted(value) if isinstance(value, str) else repr(value)


@dataclass(slots=True)
class ImportFiles:
    """The files of one import in a folder, written row by row; a context manager that closes them. A text is always quoted, so that an
    empty one is not taken for none."""

    folder: Path
    delimiter: str = DELIMITERS[0]
    part: str | None = None
    """Name of a part that is written by itself: its files have no header."""
    _files: dict[str, _File] = field(default_factory=dict)
    _labelled: dict[tuple[str, ...], tuple[_File, str]] = field(default_factory=dict)
    """Labels → their file, and how they are written."""
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> ImportFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    @property
    def counts(self) -> dict[str, int]:
        """File → rows."""
        return {name: file.rows for name, file in self._files.items()}

    @property
    def longest(self) -> int:
        """Characters of the longest row."""
        return max((file.longest for file in self._files.values()), default=0)

    def node(self, id: str, labels: Sequence[str], properties: Mapping[str, Any]) -> None:
        """One node. Raises StoreError for what the data model does not have."""
        kind = f"-{properties.get('kind')}" if "Past" in labels else ""
        found = self._labelled.get((*labels, kind))
        if found is None:
            label = next((one + kind for one in labels if one + kind in NODES), None)
            if label is None:
                raise StoreError(f"A node is of {', '.join(labels) or 'no label'}.", hint="See: gprov verify.")
            file = self._files.get("nodes-" + label) or self._begun("nodes-" + label)
            found = self._labelled[(*labels, kind)] = file, _quoted(self.delimiter.join(labels))
        found[0].write([_quoted(id), found[1]], properties)

    def relationship(self, start: str, end: str, type: str, properties: Mapping[str, Any]) -> None:
        """One relationship between two nodes by their ids."""
        name = "relationships-" + (type if type in RELATIONSHIPS else "EDGE")
        file = self._files.get(name) or self._begun(name)
        file.write([_quoted(start), _quoted(end), _quoted(type)], properties)

    def _begun(self, name: str) -> _File:
        header, columns = _header(name)
        path = self.folder / (f"{name}.csv" if self.part is None else f"{name}.part-{self.part}.csv")
        out = self._stack.enter_context(path.open("w", encoding="utf-8", newline="", buffering=1 << 16))
        if self.part is None:
            out.write(",".join(header) + "\n")
        file = self._files[name] = _File(out, name.partition("-")[2], len(header) - len(columns) - 1, columns, self.delimiter)
        return file


def _header(file: str) -> tuple[list[str], Mapping[str, str]]:
    kind, _, name = file.partition("-")
    fixed, columns = ([":ID", ":LABEL"], NODES[name]) if kind == "nodes" else ([":START_ID", ":END_ID", ":TYPE"], RELATIONSHIPS[name])
    return [*fixed, *(f"{column}:{said}" for column, said in columns.items()), f"{MARKER}:string[]"], columns


@dataclass(frozen=True, slots=True)
class ImportFolder:
    """A folder of import files that is written in parts, each by itself."""

    folder: Path
    marks: tuple[str, ...] = DELIMITERS

    def part(self, name: str, mark: str) -> ImportFiles:
        """The files of one part."""
        return ImportFiles(self.folder, mark, name)

    def finish(self, counts: Mapping[str, int], longest: int, mark: str, told: Mapping[str, Any]) -> None:
        """Write the headers, and what the import needs to know."""
        for file in counts:
            (self.folder / f"{file}.csv").write_text(",".join(_header(file)[0]) + "\n", encoding="utf-8")
        _finish(self.folder, {**told, "parts": True}, mark, longest, counts)


def _finish(folder: Path, told: Mapping[str, Any], delimiter: str, longest: int, counts: Mapping[str, int]) -> None:
    """Write what the import needs to know, and what came of it: `told` goes into the manifest."""
    manifest = {"schema": 1, **told, "array_delimiter": f"U+{ord(delimiter):04X}", "longest_row": longest,
                "rows": dict(sorted(counts.items()))}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    (folder / ARGUMENTS).write_text("".join(f"{one}\n" for one in import_arguments(folder, relative=True)), encoding="utf-8")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the files say of themselves. Raises InputError for a folder that holds none."""
    try:
        found = parse_json((folder / MANIFEST).read_text(encoding="utf-8"))
        if found["schema"] == 1 and isinstance(found["rows"], dict):
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{folder} holds no import files.", hint="Make them: gprov export import-csv DIR.")


def import_arguments(folder: Path, *, relative: bool = False) -> list[str]:
    """The options of `neo4j-admin database import full` for the files of a folder."""
    manifest = read_manifest(folder)
    files = sorted(manifest["rows"])
    place = "" if relative else f"{folder}/"
    parts = manifest.get("parts", False)
    return [
        "--id-type=string", f"--array-delimiter={manifest['array_delimiter']}",
        "--multiline-fields=true", "--bad-tolerance=0",
        f"--read-buffer-size={max(_LEAST_BUFFER, 4 * manifest['longest_row'])}",
        *(f"--{file.partition('-')[0]}={place}{file}.csv" + (f",{place}{file}.part-.*" if parts else "") for file in files)]


def write_import_files(folder: Path, rows: Callable[[], Iterable[Mapping[str, Any]]], told: Mapping[str, Any]) -> ImportFiles:
    """Write what `rows` gives (`id`, `labels`, `properties` of a node; `start`, `end`, `type`, `properties` of a relationship) into an
    empty folder. It is called again, for another delimiter, if an element of a list holds the one that was taken."""
    for delimiter in DELIMITERS:
        try:
            with ImportFiles(folder, delimiter) as files:
                for row in rows():
                    if "labels" in row:
                        files.node(row["id"], row["labels"], row["properties"])
                    else:
                        files.relationship(row["start"], row["end"], row["type"], row["properties"])
            _finish(folder, told, delimiter, files.longest, files.counts)
            return files
        except DelimiterFoundError:
            for file in folder.glob("*.csv"):
                file.unlink()
    raise InputError("Lists of the store hold every character that could part their elements.",
                     hint="Take the standard records: gprov export jsonl.")


def export_import_files(everything: Everything, folder: Path) -> ImportFiles:
    """The whole store as import files in an empty folder."""
    return write_import_files(folder, lambda: chain(everything.nodes(), everything.relationships()), {"graph_hash": everything.graph_hash})
