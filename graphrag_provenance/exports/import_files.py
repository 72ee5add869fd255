"""Files for `neo4j-admin database import full` (spec 5, exports; spec 6, bulk load).

Owns: the columns of each file, which are the properties of docs/data-model.md, and how a value is written so that it comes back as it
was. Two things such files cannot say, an empty list and a list of one empty text: they are named in the column `import_lists`, and
`store.importing` makes them. Leaves to others: running the import (`server.admin`), the schema (`store.migrations`).
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
from graphrag_provenance.store.importing import MARKER

MANIFEST = "manifest.json"
ARGUMENTS = "import.args"
DELIMITERS = ("\x1f", "\x1e", "\ue000", "\ue001", "\uf8fe", "\uf8ff")
"""What may part the elements of a list: the first that no element holds."""
_LEAST_BUFFER = 4 << 20
_BYTES = [str(byte - 256 if byte > 127 else byte) for byte in range(256)]
"""Bytes are signed there."""


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


@dataclass(slots=True)
class ImportFiles:
    """The files of one import in a folder, written row by row; a context manager that closes them."""

    folder: Path
    delimiter: str = DELIMITERS[0]
    counts: dict[str, int] = field(default_factory=dict)
    """File → rows."""
    id_type: str = "string"
    """What the ids of nodes are: `string` or `integer`."""
    longest: int = 0
    """Characters of the longest row."""
    _open: dict[str, TextIO] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> ImportFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def node(self, id: str, labels: Sequence[str], properties: Mapping[str, Any]) -> None:
        """One node. Raises StoreError for what the data model does not have."""
        kind = f"-{properties.get('kind')}" if "Past" in labels else ""
        label = next((one + kind for one in labels if one + kind in NODES), None)
        if label is None:
            raise StoreError(f"A node is of {', '.join(labels) or 'no label'}.", hint="See: gprov verify.")
        self._row("nodes-" + label, [":ID", ":LABEL"], [_quoted(id), _quoted(self.delimiter.join(labels))], NODES[label], properties)

    def relationship(self, start: str, end: str, type: str, properties: Mapping[str, Any]) -> None:
        """One relationship between two nodes by their ids."""
        kind = type if type in RELATIONSHIPS else "EDGE"
        self._row("relationships-" + kind, [":START_ID", ":END_ID", ":TYPE"], [_quoted(start), _quoted(end), _quoted(type)],
                  RELATIONSHIPS[kind], properties)

    def _row(self, file: str, fixed: list[str], cells: list[str], columns: Mapping[str, str], properties: Mapping[str, Any]) -> None:
        if (out := self._open.get(file)) is None:
            out = self._begun(file, [*fixed, *(f"{name}:{kind}" for name, kind in columns.items()), f"{MARKER}:string[]"])
        unsaid = []
        for name in columns:
            value = properties.get(name)
            if value is None:
                cells.append("")
            elif value == [] or value == [""]:
                unsaid.append(name + "=" * len(value))
                cells.append("")
            else:
                cells.append(_quoted(value) if type(value) is str else self._cell(value))
        if not properties.keys() <= columns.keys():
            strange = sorted(properties.keys() - columns.keys())
            raise StoreError(f"{file.partition('-')[2]} has a property '{strange[0]}', which the data model has not.",
                             hint="See: gprov verify.")
        cells.append(self._cell(unsaid) if unsaid else "")
        row = ",".join(cells) + "\n"
        self.longest = max(self.longest, len(row))
        self.counts[file] = self.counts.get(file, 0) + 1
        out.write(row)

    def _begun(self, file: str, header: list[str]) -> TextIO:
        out = self._open[file] = self._stack.enter_context((self.folder / f"{file}.csv").open("w", encoding="utf-8", newline=""))
        out.write(",".join(header) + "\n")
        return out

    def _cell(self, value: Any) -> str:
        """A value as a field; a text is always quoted, so that an empty one is not taken for none."""
        if isinstance(value, str):
            return _quoted(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, datetime):
            return format_instant(value)
        if isinstance(value, bytes):
            return self.delimiter.join([_BYTES[byte] for byte in value])
        if isinstance(value, list):
            texts = [str(one) for one in value]
            if any(self.delimiter in one for one in texts):
                raise DelimiterFoundError(f"A list holds the character U+{ord(self.delimiter):04X}.", hint="Another one is to part lists.")
            return _quoted(self.delimiter.join(texts))
        return repr(value)

    def finish(self, told: Mapping[str, Any]) -> None:
        """Write what the import needs to know, and what came of it: `told` goes into the manifest."""
        self._stack.close()
        manifest = {"schema": 1, **told, "id_type": self.id_type, "array_delimiter": f"U+{ord(self.delimiter):04X}",
                    "longest_row": self.longest, "rows": dict(sorted(self.counts.items()))}
        (self.folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        (self.folder / ARGUMENTS).write_text("".join(f"{one}\n" for one in import_arguments(self.folder, relative=True)), encoding="utf-8")


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
    return [
        f"--id-type={manifest['id_type']}", f"--array-delimiter={manifest['array_delimiter']}",
        "--multiline-fields=true", "--bad-tolerance=0",
        f"--read-buffer-size={max(_LEAST_BUFFER, 4 * manifest['longest_row'])}",
        *(f"--{file.partition('-')[0]}={place}{file}.csv" for file in files)]


def write_import_files(
    folder: Path, rows: Callable[[], Iterable[Mapping[str, Any]]], told: Mapping[str, Any], *, id_type: str = "string",
) -> ImportFiles:
    """Write what `rows` gives (`id`, `labels`, `properties` of a node; `start`, `end`, `type`, `properties` of a relationship) into an
    empty folder. It is called again, for another delimiter, if an element of a list holds the one that was taken."""
    for delimiter in DELIMITERS:
        try:
            with ImportFiles(folder, delimiter, id_type=id_type) as files:
                for row in rows():
                    if "labels" in row:
                        files.node(row["id"], row["labels"], row["properties"])
                    else:
                        files.relationship(row["start"], row["end"], row["type"], row["properties"])
                files.finish(told)
                return files
        except DelimiterFoundError:
            for file in folder.glob("*.csv"):
                file.unlink()
    raise InputError("Lists of the store hold every character that could part their elements.",
                     hint="Take the standard records: gprov export jsonl.")



def export_import_files(everything: Everything, folder: Path) -> ImportFiles:
    """The whole store as import files in an empty folder."""
    return write_import_files(folder, lambda: chain(everything.nodes(), everything.relationships()), {"graph_hash": everything.graph_hash})
