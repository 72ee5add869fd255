"""The engine of pipelines: DuckDB behind walls, and the declared inputs as its tables (spec 5, "Pipelines").

Owns: what the engine can reach (the files of this execution and nothing else, no network unless it is opened, no extension), and how a
file becomes a table: columns go by name, types are the declared ones, CSV is text. A row that is not of the declared format is refused
with file and line; the others are read.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path

import duckdb

from graphrag_provenance.errors import ConfigurationError, InputError
from graphrag_provenance.ingest.graphml import graphml_rows
from graphrag_provenance.ingest.macros import MACROS
from graphrag_provenance.ingest.pipelines import InputDeclaration, Pipeline
from graphrag_provenance.ingest.rejecting import MOST_UNREADABLE
from graphrag_provenance.ingest.sources import Source, lines
from graphrag_provenance.ingest.validate import parse_object
from graphrag_provenance.rules.rejects import Refused, RejectCode
from graphrag_provenance.store.counting import Reject

_ROWS = 2_000
_OBJECT_BYTES = 32 * 1024 * 1024
_BLOCK = 1 << 20
_MOST_TIMES, _LEAST_BOUND = 100, 64 * 1024 * 1024
"""How much larger a packed file may be unpacked, beyond what any may be."""
_REMOTE = "httpfs"


def open_engine(
    readable: list[str], memory_mb: int, spill: Path | None = None, allow_network: bool = False
) -> duckdb.DuckDBPyConnection:
    """DuckDB that can read `readable` and nothing else, and cannot be told otherwise."""
    engine = duckdb.connect(":memory:", config={
        "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "allow_community_extensions": "false",
        "python_enable_replacements": "false", "memory_limit": f"{memory_mb}MB",
        "threads": "1",  # one order of rows, whatever the machine
        "temp_directory": str(spill) if spill else "",
    })
    engine.execute("SET TimeZone = 'UTC'")
    for macro in MACROS:
        engine.execute(macro)
    if allow_network and any("://" in place for place in readable):
        try:
            engine.install_extension(_REMOTE)
            engine.load_extension(_REMOTE)
        except duckdb.Error as error:
            raise InputError(f"DuckDB's extension '{_REMOTE}' for addresses cannot be had: {first_line(error)}") from None
    engine.execute(f"SET allowed_paths = [{', '.join(map(_text, readable))}]")
    engine.execute("SET enable_external_access = false")
    engine.execute("SET lock_configuration = true")
    return engine


def prepared(name: str, declared: InputDeclaration, place: Path | str | None, folder: Path, limit: int,
              unreadable: list[Reject]) -> Path | str | None:
    """The file that DuckDB reads for an input: itself, its rows as JSON lines, or for JSON lines a copy without the ones that are
    none, which are refused."""
    if not isinstance(place, Path) or declared.format not in ("jsonl", "graphml"):
        return place
    if declared.format == "graphml":
        rows = folder / f"{name}.jsonl"
        with rows.open("wb") as file:
            graphml_rows(place, file)
        return rows
    plain = place
    if place.suffix == ".gz":
        plain = folder / f"{name}.plain"
        try:
            _unpack(place, plain)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{place} cannot be unpacked: {error}.") from None
    copy = folder / f"{name}.jsonl"
    with copy.open("wb") as file:
        for line in lines(Source(str(place), plain, 0), limit):
            try:
                parse_object(line)
                file.write(line.data + b"\n")
            except Refused as refused:
                _refuse(unreadable, Reject(str(place), line.number, refused.code, refused.message, line.data))
    return copy


def _unpack(packed: Path, plain: Path) -> None:
    """Raises InputError for a file that is small only because it is packed, before it fills the disk."""
    most, size = _LEAST_BOUND + _MOST_TIMES * packed.stat().st_size, 0
    with gzip.open(packed, "rb") as source, plain.open("wb") as file:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > most:
                raise InputError(f"{packed} holds more than {_MOST_TIMES} times its size.", hint="Unpack it yourself if that is meant.")
            file.write(block)


def _refuse(unreadable: list[Reject], reject: Reject) -> None:
    unreadable.append(reject)
    if len(unreadable) > MOST_UNREADABLE:
        raise InputError(f"{reject.file} has more than {MOST_UNREADABLE:,} rows that are not of the declared format.",
                         hint="Check format, delimiter, quote and columns in pipeline.toml.")


def empty_table(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str, declared: InputDeclaration) -> None:
    """The input as a table without rows. Raises ConfigurationError for columns that make none, or a type that there is not."""
    columns = ", ".join(f"{quoted(column)} {_type(engine, pipeline, name, column, text)}" for column, text in declared.types.items())
    try:
        engine.execute(f"CREATE TABLE {quoted(name)} ({columns})")
    except duckdb.Error as error:
        raise ConfigurationError(f"{pipeline.folder / 'pipeline.toml'}: inputs.{name}: {first_line(error)}") from None


def _type(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str, column: str, text: str) -> str:
    try:
        return str(engine.type(text))
    except duckdb.Error as error:
        raise ConfigurationError(f"{pipeline.folder / 'pipeline.toml'}: inputs.{name}: column '{column}': {first_line(error)}") from None


def table_of(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str, declared: InputDeclaration, file: Path | str | None,
           given: Path | str | None, unreadable: list[Reject]) -> None:
    """The input as a view that reads the file each time."""
    if file is None:
        return empty_table(engine, pipeline, name, declared)
    try:
        reader, has = _reader(engine, pipeline, name, declared, str(file), unreadable)
        columns = []
        for column, text in declared.types.items():
            wanted = _type(engine, pipeline, name, column, text)
            real = has.get(column.casefold())
            if real is None and column not in declared.optional_columns:
                raise InputError(f"{given} has no column '{column}'.", hint=f"It has: {', '.join(has) or 'none'}. See pipeline.toml.")
            if real is not None and _nested(real) != _nested(wanted) and wanted != "JSON":
                raise InputError(f"{given}: column '{column}' is {real}, not {wanted}.", hint="Correct its type in pipeline.toml.")
            columns.append(f"CAST({'NULL' if real is None else quoted(column)} AS {wanted}) AS {quoted(column)}")
        # Names and types are quoted, or written by DuckDB itself.
        engine.execute(f"CREATE VIEW {quoted(name)} AS SELECT {', '.join(columns)} FROM {reader}")  # noqa: S608
    except duckdb.Error as error:
        raise InputError(f"{given} cannot be read as {declared.format}: {first_line(error)}") from None


def _nested(name: str) -> bool:
    return name.endswith("]") or name.startswith(("STRUCT", "MAP"))


def _reader(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str, declared: InputDeclaration, file: str,
            unreadable: list[Reject]) -> tuple[str, dict[str, str]]:
    """The table function that reads the file, and the columns that it has: name in lower case → type."""
    place = _text(file)
    if declared.format == "csv":
        header = _header(declared, file) if declared.header else list(declared.types)
        rejects = f"gprov_rejects_{name}"
        columns = ", ".join(f"{_text(column)}: 'VARCHAR'" for column in header)
        reader = (f"read_csv({place}, auto_detect = false, columns = {{{columns}}}, header = {declared.header}, "
                  f"delim = {_text(declared.delimiter)}, quote = {_text(declared.quote)}, escape = {_text(declared.quote)}, "
                  f"store_rejects = true, rejects_table = {_text(rejects)}, rejects_scan = {_text(rejects + '_scan')})")
        _csv_rejects(engine, reader, rejects, file, header, unreadable)
        return reader, {column.casefold(): "VARCHAR" for column in header}
    if declared.format == "parquet":
        reader = f"read_parquet({place})"
        told = engine.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()  # noqa: S608 - the path is quoted
        return reader, {row[0].casefold(): row[1] for row in told}
    if declared.format == "text":
        return f"(SELECT content AS text FROM read_text({place}))", {"text": "VARCHAR"}  # noqa: S608
    shape = "array" if declared.format == "json" else "newline_delimited"
    if declared.types == {"json": "JSON"}:
        return f"read_json_objects({place}, format = '{shape}', maximum_object_size = {_OBJECT_BYTES})", {"json": "JSON"}
    types = {column: _type(engine, pipeline, name, column, text) for column, text in declared.types.items()}
    columns = ", ".join(f"{_text(column)}: {_text(text)}" for column, text in types.items())
    return (f"read_json({place}, format = '{shape}', columns = {{{columns}}}, maximum_object_size = {_OBJECT_BYTES})",
            {column.casefold(): text for column, text in types.items()})


def _header(declared: InputDeclaration, file: str) -> list[str]:
    """The names in the first line: columns go by name, never by place."""
    try:
        with Path(file).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:  # later rows may be broken
            header = next(csv.reader(text, delimiter=declared.delimiter, quotechar=declared.quote), [])
        "".join(header).encode()
    except (OSError, UnicodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read as CSV in UTF-8: {error}.") from None
    names = [name.casefold() for name in header]
    if len(set(names)) < len(names) or "" in names:
        raise InputError(f"{file}: the first line names a column twice, or leaves one without a name.")
    return header


def _csv_rejects(
    engine: duckdb.DuckDBPyConnection, reader: str, table: str, file: str, header: list[str], unreadable: list[Reject]
) -> None:
    """Read the whole file once for the rows that are none of its columns; later readings leave them out in the same way."""
    counted = ", ".join(f"count({quoted(column)})" for column in header)
    engine.execute(f"SELECT {counted} FROM {reader}").fetchall()  # noqa: S608 - names and path are quoted
    found = engine.execute(f"SELECT DISTINCT ON (line, line_byte_position) line, error_message, csv_line FROM {quoted(table)} "  # noqa: S608
                           "ORDER BY line, line_byte_position, error_type")
    while rows := found.fetchmany(_ROWS):
        for number, message, text in rows:
            _refuse(unreadable, Reject(file, number, RejectCode.SOURCE_ROW, message, (text or "").encode("utf-8", "replace")))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def first_line(error: BaseException) -> str:
    """What DuckDB says, as one sentence."""
    told = str(error).strip().splitlines() or ["unknown error"]
    return told[0].rstrip(".") + "."
