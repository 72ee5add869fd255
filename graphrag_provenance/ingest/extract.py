"""Extraction: the queries of a pipeline, run by DuckDB, as lines of standard records (spec 5, "Pipelines").

Owns: what a query may be (one SELECT of the record's fields) and the form of its result. A result becomes JSON exactly as it stands: a
NULL is null, text stays text; the lines are then validated as any JSONL is. Rows are streamed into files; the same input gives the
same bytes. Leaves to others: what the engine can reach (`ingest.tables`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from graphrag_provenance.errors import ConfigurationError, InputError
from graphrag_provenance.ingest.pipelines import KINDS, LOSSES, Bound, Pipeline
from graphrag_provenance.ingest.sources import Source
from graphrag_provenance.ingest.tables import empty_table, first_line, open_engine, prepared, quoted, table_of
from graphrag_provenance.model.records import RECORD_KINDS
from graphrag_provenance.store.counting import Reject

LOSS_COLUMNS = ("outcome", "subject", "reason", "count")
RECORD = "record"
_ROWS = 2_000
_ROW = "gprov_row__"
_UNTOLD = frozenset({"blob", "bit", "time", "time with time zone", "interval", "union", "geometry", "variant"})
"""Types without one form in JSON: the query says which it wants."""


@dataclass(slots=True)
class Extracted:
    """What the queries gave."""

    sources: list[Source] = field(default_factory=list)
    """One spooled file a query; a line is a row."""
    rows: dict[str, int] = field(default_factory=dict)
    """Query file → rows."""
    losses: list[dict[str, Any]] = field(default_factory=list)
    """What `losses.sql` tells."""
    unreadable: list[Reject] = field(default_factory=list)
    """Rows of input files that are not of the declared format."""


def check(pipeline: Pipeline) -> dict[str, list[str]]:
    """Bind every query to empty tables of the declared columns: query → its result columns. Needs no data.

    Raises ConfigurationError with file and reason for SQL that is wrong, is no single SELECT, or gives other columns than the record has.
    """
    with open_engine([], memory_mb=256) as engine:
        for name, declared in pipeline.inputs.items():
            empty_table(engine, pipeline, name, declared)
        _make_views(engine, pipeline)
        values = {name: option.default for name, option in pipeline.options.items()}
        return {f"{name}.sql": _checked(engine, pipeline, name, values) for name in pipeline.queries}


def extract(bound: Bound, folder: Path, *, memory_mb: int, max_line_bytes: int, allow_network: bool = False) -> Extracted:
    """Run every query over the bound inputs and spool its rows into `folder`. Raises InputError with file and reason when an input is
    not what was declared or a query fails; nothing is loaded then."""
    pipeline, result = bound.pipeline, Extracted()
    columns = check(pipeline)
    files = {name: prepared(name, pipeline.inputs[name], place, folder, max_line_bytes, result.unreadable)
             for name, place in bound.files.items()}
    with open_engine([str(place) for place in files.values() if place], memory_mb, folder / "spill", allow_network) as engine:
        for name, declared in pipeline.inputs.items():
            table_of(engine, pipeline, name, declared, files[name], bound.files[name], result.unreadable)
        _make_views(engine, pipeline)
        for name in pipeline.queries:
            if name == LOSSES:
                rows = _run(engine, pipeline, name, bound.values).fetchall()
                result.losses = [dict(zip(LOSS_COLUMNS, row, strict=True)) for row in rows]
            else:
                _spool(engine, bound, name, folder, result, whole=columns[f"{name}.sql"] == [RECORD])
    return result


def _make_views(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline) -> None:
    for name in pipeline.views:
        text, parameters = _statement(engine, pipeline, name)
        if parameters:
            raise ConfigurationError(f"{pipeline.folder / name}.sql uses ${min(parameters)}; a view has no options.",
                                     hint="Use it in a query.")
        try:
            engine.execute(f"CREATE VIEW {quoted(Path(name).name)} AS {text}")
        except duckdb.Error as error:
            raise ConfigurationError(f"{pipeline.folder / name}.sql: {first_line(error)}") from None


def _statement(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str) -> tuple[str, set[str]]:
    """The one SELECT of a query file and the names of its parameters. Raises ConfigurationError."""
    file = pipeline.folder / f"{name}.sql"
    try:
        found = engine.extract_statements(pipeline.sql[name])
    except duckdb.Error as error:
        raise ConfigurationError(f"{file}: {first_line(error)}") from None
    if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
        raise ConfigurationError(f"{file} is not one SELECT.", hint="A query reads its inputs and gives rows; it does nothing else.")
    parameters = set(found[0].named_parameters)
    if strange := sorted(parameters - set(pipeline.options)):
        raise ConfigurationError(f"{file} uses ${strange[0]}, which pipeline.toml does not declare.",
                                 hint=f"Options: {', '.join(pipeline.options) or 'none'}.")
    return found[0].query.strip().rstrip(";"), parameters


def _checked(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str, values: Mapping[str, str | None]) -> list[str]:
    text, parameters = _statement(engine, pipeline, name)
    file = pipeline.folder / f"{name}.sql"
    given: dict[str, object] = {one: values[one] for one in parameters}
    try:
        engine.execute(f"EXPLAIN {text}", given or None)
        found = engine.query(text, params=given or None)
        columns, types = found.columns, dict(zip(found.columns, found.types, strict=True))
    except duckdb.Error as error:
        raise ConfigurationError(f"{file}: {first_line(error)}") from None
    for column, kind in types.items():
        if untold := _untold(kind):
            raise ConfigurationError(f"{file}: column '{column}' holds {untold}, which has no one form in JSON.", hint="Cast it.")
    if name == LOSSES:
        if tuple(columns) != LOSS_COLUMNS:
            raise ConfigurationError(f"{file} gives {', '.join(columns)}; it gives {', '.join(LOSS_COLUMNS)}.")
    elif columns == [RECORD]:
        if str(types[RECORD]) != "JSON" and str(types[RECORD]) != '"NULL"':
            raise ConfigurationError(f"{file}: column 'record' is JSON, not {types[RECORD]}.", hint="Make it with stated({…}).")
    else:
        _check_columns(file, KINDS[name], columns)
    return list(columns)


def _check_columns(file: Path, kind: str, columns: list[str]) -> None:
    fields = {name: info.is_required() for name, info in RECORD_KINDS[kind].model_fields.items() if name != "kind"}
    known = f"A {kind} has: {', '.join(fields)}."
    if strange := [column for column in columns if column not in fields]:
        raise ConfigurationError(f"{file} gives a column '{strange[0]}' that no {kind} has.", hint=known)
    if len(set(columns)) < len(columns):
        raise ConfigurationError(f"{file} gives a column twice.", hint=known)
    if missing := [field for field, required in fields.items() if required and field not in columns]:
        raise ConfigurationError(f"{file} gives no column '{missing[0]}', which every {kind} needs.", hint=known)


def _untold(kind: Any) -> str | None:
    if kind.id in _UNTOLD:
        return str(kind)
    if kind.id == "map" and str(kind.children[0][1]) != "VARCHAR":
        return str(kind)
    if kind.id in ("list", "array", "struct", "map"):
        inner = (part for _, part in kind.children if not isinstance(part, int))
        return next((found for part in inner if (found := _untold(part))), None)
    return None


def _run(engine: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str, values: Mapping[str, str | None],
         around: str = "") -> duckdb.DuckDBPyConnection:
    text, parameters = _statement(engine, pipeline, name)
    given: dict[str, object] = {one: values[one] for one in parameters}
    try:
        return engine.execute(around % text if around else text, given or None)
    except duckdb.Error as error:
        raise _failed(pipeline, name, error) from None


def _failed(pipeline: Pipeline, name: str, error: duckdb.Error) -> InputError:
    return InputError(f"{pipeline.folder / name}.sql failed: {first_line(error)}", hint="Nothing was loaded.")


def _spool(engine: duckdb.DuckDBPyConnection, bound: Bound, name: str, folder: Path, result: Extracted, *, whole: bool) -> None:
    pipeline, kind = bound.pipeline, KINDS[name]
    # The query is one SELECT, as _statement makes sure of.
    around = (f"SELECT CAST({RECORD} AS VARCHAR) FROM (%s\n) AS {_ROW}" if whole  # noqa: S608
              else f"SELECT to_json({_ROW}) FROM (%s\n) AS {_ROW}")  # noqa: S608
    path, rows = folder / f"{name}.records", 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text in _texts(_run(engine, pipeline, name, bound.values, around), pipeline, name):
            file.write(_line(kind, text))
            rows += 1
    result.rows[f"{name}.sql"] = rows
    result.sources.append(Source(f"{pipeline.name}/{name}.sql", path, path.stat().st_size))


def _texts(cursor: duckdb.DuckDBPyConnection, pipeline: Pipeline, name: str) -> Iterator[str]:
    try:
        while rows := cursor.fetchmany(_ROWS):
            for (text,) in rows:
                yield text if text is not None else "null"
    except duckdb.Error as error:
        raise _failed(pipeline, name, error) from None


def _line(kind: str, text: str) -> str:
    """The row as a line: its object with the kind first. What is no object stays as it is, and is refused as a line."""
    if not text.startswith("{"):
        return text + "\n"
    return f'{{"kind":"{kind}"{"" if text == "{}" else ","}{text[1:]}\n'


