"""Pipelines of the operator's room: one folder a source, no program (spec 5, "Pipelines").

Owns: what such a folder may hold and where it is found: `pipeline.toml` and one SQL file a record kind. Nothing outside the folder
is named by it: a path that leads out is refused. Leaves to others: running the SQL (`ingest.extract`), what a record means.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_provenance.errors import ConfigurationError, InputError, NotFoundError
from graphrag_provenance.ingest.graphml import COLUMNS as GRAPHML_COLUMNS
from graphrag_provenance.notation import parse_toml, problem
from graphrag_provenance.resources import etl_path

FILE = "pipeline.toml"
FOLDER = "pipelines"
KINDS = {"documents": "document", "revisions": "revision", "chunks": "chunk", "entities": "entity", "edges": "edge",
         "tombstones": "tombstone"}
"""Name of a query file → kind of record that it gives."""
VIEWS = "views"
"""Folder of SELECTs that the queries read as tables, each under its file name."""
LOSSES = "losses"
"""The query that tells what the others leave out or make up."""
FIXED_COLUMNS = {"text": {"text": "VARCHAR"}, "graphml": GRAPHML_COLUMNS}
"""Formats whose columns need no declaration."""
_NAME = r"[a-z][a-z0-9_-]{0,63}"
_IDENTIFIER = r"^[a-z][a-z0-9_]{0,63}$"
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)

Name = Annotated[str, Field(pattern=_IDENTIFIER)]
Column = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class InputDeclaration(_Part):
    """One file that the queries read, under the name of a table."""

    format: Literal["csv", "graphml", "json", "jsonl", "parquet", "text"]
    """How the file is read. `json`: one array of objects; `text`: the whole file as one row with the column `text`; `graphml`: a row
    a node or edge, with `element`, `id`, `source`, `target`, `data`."""
    file: str
    """Its name: looked for in the pipeline's folder, or in the folder that is loaded."""
    columns: list[Column] | dict[Column, str] = Field(default_factory=list)
    """The columns: a list of names for CSV, where each is text; name = type for the others. Without any, JSON gives one column `json`."""
    optional_columns: list[str] = Field(default_factory=list)
    """Those that a file may lack: they are NULL then."""
    optional: bool = False
    """Whether the file may be absent: the table is empty then."""
    delimiter: str = Field(",", min_length=1, max_length=1)
    """CSV: what parts two fields."""
    quote: str = Field('"', min_length=1, max_length=1)
    """CSV: what stands around a field."""
    header: bool = True
    """CSV: whether the first line names the columns. If not, `columns` names all of them in order."""

    @property
    def types(self) -> dict[str, str]:
        """Column → type."""
        if self.format in FIXED_COLUMNS:
            return FIXED_COLUMNS[self.format]
        if isinstance(self.columns, list):
            return dict.fromkeys(self.columns, "VARCHAR") or {"json": "JSON"}
        return dict(self.columns)


class OptionDeclaration(_Part):
    """A value that the operator may give; queries read it as `$name`, always text, NULL without a value."""

    help: str
    """What it is, for people."""
    default: str | None = None
    """Value when none is given."""
    required: bool = False
    """Whether a value must be given."""


class _File(_Part):
    schema_: Literal[1] = Field(1, alias="schema")
    name: Annotated[str, Field(pattern=f"^{_NAME}$")]
    version: Annotated[str, Field(min_length=1)]
    description: str = ""
    tenant: Annotated[str, Field(min_length=1)] | None = None
    inputs: Annotated[dict[Name, InputDeclaration], Field(min_length=1)]
    options: dict[Name, OptionDeclaration] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline as its folder declares it."""

    folder: Path
    name: str
    version: str
    description: str
    tenant: str | None
    """Tenant of records that name none."""
    inputs: Mapping[str, InputDeclaration]
    options: Mapping[str, OptionDeclaration]
    views: Mapping[str, str]
    """Path of a view's file inside the folder without `.sql` → its text; made in the order of their names."""
    queries: Mapping[str, str]
    """Name of a query file without `.sql` → its text; in the order documents, revisions, chunks, entities, edges."""

    @property
    def sql(self) -> Mapping[str, str]:
        """The text of every view and query."""
        return {**self.views, **self.queries}

    @property
    def files(self) -> list[Path]:
        """The files that it consists of."""
        return [self.folder / FILE, *(self.folder / f"{name}.sql" for name in self.sql)]


def read_pipeline(folder: Path) -> Pipeline:
    """The pipeline of a folder. Raises NotFoundError without one, ConfigurationError with file and place for a wrong one."""
    file = folder / FILE
    if not file.is_file():
        raise NotFoundError(f"{folder} holds no {FILE}.", hint="Name a pipeline's folder, or see: gprov pipeline list.")
    try:
        told = _File.model_validate(parse_toml(_text(file)))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{file} is not valid TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigurationError(f"{file}: {'.'.join(map(str, first['loc']))}: {problem(first)}.", hint="See docs/pipelines.md.") from None
    for name, declared in told.inputs.items():
        _check_input(f"{file}: inputs.{name}", declared)
    for name, option in told.options.items():
        if option.required and option.default is not None:
            raise ConfigurationError(f"{file}: options.{name} is required and has a default; say one of the two.")
    return Pipeline(folder, told.name, told.version, told.description, told.tenant, told.inputs, told.options,
                    _views(folder, told.inputs), _queries(folder))


def _check_input(place: str, declared: InputDeclaration) -> None:
    path = PurePosixPath(declared.file)
    if _REMOTE.match(declared.file) or path.is_absolute() or ".." in path.parts or "\\" in declared.file or not path.parts:
        raise ConfigurationError(f"{place}: file '{declared.file}' leads out of the folder.",
                                 hint="Declare a name inside it; another place is given with --input NAME=PATH.")
    if declared.format == "csv" and not (isinstance(declared.columns, list) and declared.columns):
        raise ConfigurationError(f"{place}: columns of CSV are a list of names; each is text.")
    if declared.format == "parquet" and not (isinstance(declared.columns, dict) and declared.columns):
        raise ConfigurationError(f"{place}: columns of Parquet are a table, name = type.")
    if declared.format in ("json", "jsonl") and isinstance(declared.columns, list) and declared.columns:
        raise ConfigurationError(f"{place}: columns of {declared.format} are a table, name = type, or left out.")
    if declared.format in FIXED_COLUMNS and declared.columns:
        raise ConfigurationError(f"{place}: {declared.format} has the columns {', '.join(declared.types)}; leave them out.")
    names = [name.casefold() for name in declared.types]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"{place}: a column is declared twice (SQL takes upper and lower case for the same).")
    if unknown := [name for name in declared.optional_columns if name not in declared.types]:
        raise ConfigurationError(f"{place}: optional_columns names {unknown[0]!r}, which columns does not.")


def _views(folder: Path, inputs: Iterable[str]) -> dict[str, str]:
    found = sorted(path.stem for path in (folder / VIEWS).glob("*.sql"))
    for name in found:
        if not re.fullmatch(_IDENTIFIER, name) or name in inputs:
            raise ConfigurationError(f"{folder / VIEWS / name}.sql: a view is named in small letters, and not as an input.")
    return {f"{VIEWS}/{name}": _text(folder / VIEWS / f"{name}.sql") for name in found}


def _queries(folder: Path) -> dict[str, str]:
    known = (*KINDS, LOSSES)
    found = sorted(path.stem for path in folder.glob("*.sql"))
    if strange := [name for name in found if name not in known]:
        raise ConfigurationError(f"{folder / strange[0]}.sql is no query of a pipeline.",
                                 hint=f"Known: {', '.join(f'{name}.sql' for name in known)}.")
    if not set(found) & set(KINDS):
        raise ConfigurationError(f"{folder} holds no query.", hint=f"Write at least one of {', '.join(f'{name}.sql' for name in KINDS)}.")
    return {name: _text(folder / f"{name}.sql") for name in known if name in found}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file} is not UTF-8 text.") from None


def places(workspace: Path) -> list[tuple[str, Path]]:
    """Where pipelines are looked for by name: the workspace's own first, then the shipped ones."""
    return [("workspace", workspace / FOLDER), ("shipped", etl_path() / FOLDER)]


def find_pipeline(name: str, workspace: Path) -> Pipeline:
    """The pipeline of a folder (`name` has a separator or is `.`), or the one of that name. Raises NotFoundError."""
    if "/" in name or "\\" in name or name in (".", ".."):
        return read_pipeline(Path(name))
    if re.fullmatch(_NAME, name):
        for _, place in places(workspace):
            if (place / name).is_dir():
                return read_pipeline(place / name)
    raise NotFoundError(f"There is no pipeline '{name}'.", hint="See: gprov pipeline list. A folder is written with a '/', as ./NAME.")


def list_pipelines(workspace: Path) -> list[tuple[str, Path]]:
    """(workspace or shipped, folder) of every pipeline that a name finds."""
    found: dict[str, tuple[str, Path]] = {}
    for where, place in places(workspace):
        for file in sorted(place.glob(f"*/{FILE}")):
            found.setdefault(file.parent.name, (where, file.parent))
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Bound:
    """A pipeline with the files and values of one execution."""

    pipeline: Pipeline
    files: Mapping[str, Path | str | None]
    """Input → its file, an address (text with `://`), or None for an optional one that is absent."""
    values: Mapping[str, str | None]
    told: Mapping[str, str] = field(default_factory=dict)
    """Input → what the run record calls it, where that is not its path."""


def bind(
    pipeline: Pipeline, *, given: Mapping[str, str] | None = None, paths: Sequence[Path] = (),
    options: Mapping[str, str] | None = None, allow_network: bool = False,
) -> Bound:
    """The pipeline with its files: those `given` by name; those of `paths`, a folder or a file being matched by the declared file
    name; those in the pipeline's own folder. Raises InputError for a missing, unknown or unreadable one, or a missing option."""
    given, options = given or {}, options or {}
    _known("input", given, pipeline.inputs)
    _known("option", options, pipeline.options)
    files: dict[str, Path | str | None] = {}
    taken: set[Path] = set()
    for name, declared in pipeline.inputs.items():
        if name in given:
            files[name] = _named(name, given[name], allow_network)
            continue
        source, found = _among(pipeline, name, declared, paths) if paths else (None, _inside(pipeline.folder, declared.file))
        if found is None and not declared.optional:
            where = ", ".join(map(str, paths)) or str(pipeline.folder)
            raise InputError(f"Input '{name}' is missing: {where} holds no {declared.file}.", hint=f"Name it with --input {name}=PATH.")
        files[name] = found
        if source is not None:
            taken.add(source)
    if unused := [path for path in paths if path not in taken]:
        raise InputError(f"{unused[0]} is no input of pipeline '{pipeline.name}'.",
                         hint=f"Its inputs: {', '.join(one.file for one in pipeline.inputs.values())}.")
    values = {name: options.get(name, option.default) for name, option in pipeline.options.items()}
    for name, option in pipeline.options.items():
        if option.required and values[name] is None:
            raise InputError(f"Pipeline '{pipeline.name}' needs option '{name}': {option.help}",
                             hint=f"Give it with --option {name}=VALUE.")
    return Bound(pipeline, files, values)


def _known(what: str, given: Iterable[str], declared: Iterable[str]) -> None:
    names = list(declared)
    for name in given:
        if name not in names:
            raise InputError(f"The pipeline has no {what} '{name}'.", hint=f"It has: {', '.join(names) or 'none'}.")


def _named(name: str, place: str, allow_network: bool) -> Path | str:
    if _REMOTE.match(place):
        if not allow_network:
            raise InputError(f"Input '{name}' is an address, and the network is closed to pipelines.", hint="Open it with --allow-network.")
        return place
    path = Path(place)
    if not path.is_file():
        raise InputError(f"Input '{name}': there is no file {path}.", hint="Check the path.")
    return path


def _among(pipeline: Pipeline, name: str, declared: InputDeclaration, paths: Sequence[Path]) -> tuple[Path | None, Path | None]:
    """Which of the paths has the input, and the file."""
    alone = len(paths) == 1 and len(pipeline.inputs) == 1
    for path in paths:
        if path.is_dir():
            if (found := _inside(path, declared.file)) is not None:
                return path, found
        elif alone or path.name == PurePosixPath(declared.file).name:
            if not path.is_file():
                raise InputError(f"Input '{name}': there is no file {path}.", hint="Check the path.")
            return path, path
    return None, None


def _inside(folder: Path, file: str) -> Path | None:
    path = folder / file
    if not path.is_file():
        return None
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{path} leads out of the folder.", hint="Give the file itself with --input NAME=PATH.")
    return path
