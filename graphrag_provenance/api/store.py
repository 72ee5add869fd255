"""The store as a program uses it (spec 5, Python): an answer generator asks, an ETL operator loads and looks after it.

Owns: the small surface. Every read names its reader, and there is no default one. Leaves to others: everything that is decided; each
method hands over to the one function that does it, with the store, the reader and the access source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict

from pydantic import SecretStr

from graphrag_provenance.access.interface import AccessSource
from graphrag_provenance.api.connecting import (
    access_for,
    connection_for,
    patience,
    policies_for,
    prepare,
    relations_for,
    settings_for,
)
from graphrag_provenance.config import Settings, default_actor
from graphrag_provenance.errors import InputError
from graphrag_provenance.events import report
from graphrag_provenance.ingest import IngestOptions, Summary
from graphrag_provenance.ingest import ingest as load
from graphrag_provenance.ingest.given import as_files
from graphrag_provenance.ingest.reports import to_report
from graphrag_provenance.model.instants import parse_instant
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.model.reports import AnswerReport, RetrievalReport
from graphrag_provenance.rules.answers import Audience, Json, Trace
from graphrag_provenance.rules.chains import Address, Question, address
from graphrag_provenance.rules.context import Context, CountTokens, build_context, estimated_tokens
from graphrag_provenance.rules.invariants import Report
from graphrag_provenance.rules.ledger import Ledger, to_ledger
from graphrag_provenance.rules.relations import Relation
from graphrag_provenance.store import answers, lookups, migrations, retrievals
from graphrag_provenance.store.as_of import edge_as_of, traces_as_of
from graphrag_provenance.store.database import Connection, Database
from graphrag_provenance.store.gate import Judgement
from graphrag_provenance.store.gate import gate as judged
from graphrag_provenance.store.readers import require_reader, require_role
from graphrag_provenance.store.recording import RecordingOptions
from graphrag_provenance.store.surroundings import Wanted, gather
from graphrag_provenance.store.traces import traces as traced
from graphrag_provenance.store.verification import verify as verified

Entity = str | Address
"""An entity: `Type:id`, or the pair (type, id). In place of the id, a declared name."""
Instant = str | datetime
"""ISO 8601 with a zone, or a datetime that has one."""


class ContextOptions(TypedDict, total=False):
    """How `Store.context` makes a context, as retrievers are given it."""

    budget: int
    count_tokens: CountTokens
    hops: int
    max_hops: int | None
    environment: str | None
    region: str | None
    at: Instant | None
    require_current: bool
    most_sources: int


class Store:
    """An open store. Make one with `Store.open`; close it, or use it in a `with` block. Safe to share between threads.

    Every read takes a `Reader` and answers as if what that reader may not see did not exist. Methods raise `ProvenanceError` and
    nothing of the driver's: `StoreUnavailableError` where no server answers, `StoreTimeoutError` where a read took too long,
    `SchemaVersionError` where the store has another schema, `AccessDeniedError`, `NotFoundError`, `InputError`.
    """

    def __init__(
        self, connection: Connection, settings: Settings, *, access: AccessSource | None = None,
        relations: Mapping[str, Relation] | None = None,
    ) -> None:
        """`Store.open` does this with the settings of the environment."""
        self._settings, self._relations = settings, relations
        self._database = Database(connection, read_timeout=settings.query_timeout_seconds)
        self._access = access or access_for(settings, self._database)
        self._current = False

    @classmethod
    def open(
        cls, uri: str | None = None, *, username: str | None = None, password: str | SecretStr | None = None,
        database: str | None = None, home: Path | str | None = None, workspace: Path | str | None = None,
        access: AccessSource | None = None, relations: Path | str | None = None, install: bool = False,
    ) -> Store:
        """Connect, and say so if no server answers.

        What is not given here comes from the environment (`NEO4J_URI`, `NEO4J_USERNAME`, `NEO4J_PASSWORD`, `NEO4J_DATABASE`,
        `GRAPHRAG_PROVENANCE_…`), then from `gprov.toml` in `workspace` (default: the current folder), then from the defaults. Without
        any address it is the local server of `home`, started if it is down; `install` allows to fetch it.

        `access`: the live access source; default: what the settings name, and without any every live reference is closed.
        `relations`: file of declared relations; with it loads are checked against them, and answers tell conflicts.

        Raises ConfigurationError for a wrong setting, StoreUnavailableError or ServerError if there is no server.
        """
        settings = settings_for(
            _path(home), _path(workspace), neo4j_uri=uri, neo4j_username=username, neo4j_password=password, neo4j_database=database)
        declared = relations_for(_path(relations))
        connection = connection_for(settings, install=install, notify=_say)
        store = cls(connection, settings, access=access, relations=declared)
        try:
            store._database.verify()
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection. A closed store stays closed; closing it again does nothing."""
        self._database.close()

    # Answers

    def trace(
        self, source: Entity, target: Entity, *, reader: Reader, relations: Sequence[str] = (), sequence: Sequence[str] = (),
        directed: bool = True, max_hops: int | None = None, environment: str | None = None, region: str | None = None,
        at: Instant | None = None, require_current: bool = True, as_of: int | None = None, audience: Audience = "reader",
        trace_id: str | None = None,
    ) -> Trace:
        """Whether a chain of evidenced edges joins two entities for this reader: `supported` with the chain, or `unresolved` with the
        reason. `Question` says what each condition means; `as_of`: the graph as it was after a run; `audience="auditor"` needs the
        role. Default of `max_hops`: the setting."""
        question = Question(
            _entity(source), _entity(target), tuple(relations), tuple(sequence), directed, max_hops or self._settings.max_hops,
            environment, region, _instant(at), require_current)
        found = self.traces([question], reader=reader, as_of=as_of, audience=audience)[0]
        return found if trace_id is None else replace(found, trace_id=trace_id)

    def traces(
        self, questions: Sequence[Question], *, reader: Reader, as_of: int | None = None, audience: Audience = "reader",
    ) -> list[Trace]:
        """What `trace` says to each question, in their order, in one round trip a kind of statement."""
        store = self._reading(reader)
        if as_of is not None:
            return traces_as_of(store, questions, reader, as_of, access=self._access, audience=audience)
        return traced(store, questions, reader, access=self._access, audience=audience, relations=self._relations)

    def context(
        self, question: str | None = None, *, reader: Reader, entities: Sequence[Entity] = (),
        claims: Sequence[tuple[Entity, Entity]] = (), budget: int = 2_000, count_tokens: CountTokens = estimated_tokens, hops: int = 1,
        max_hops: int | None = None, environment: str | None = None, region: str | None = None, at: Instant | None = None,
        require_current: bool = True, most_sources: int = 3,
    ) -> Context:
        """What a model may see to answer a question: relations with their evidence, in at most `budget` tokens, with `[n]` citations.

        Told are, in this order: the chains of `claims`; chains between the entities that `question` names or `entities` lists, if they
        are 2 to 5; edges around these, nearest first, then most certain, up to `hops` (0 to 3) away. What does not fit is counted. A name
        that stands for no single entity is `unresolved`; none is chosen. `count_tokens` counts a text (default: three bytes a token).
        """
        wanted = Wanted(
            question, tuple(map(_entity, entities)), tuple((_entity(source), _entity(target)) for source, target in claims), hops,
            max_hops or self._settings.max_hops, environment, region, _instant(at), require_current)
        gathered = gather(self._reading(reader), reader, wanted, access=self._access)
        return build_context(gathered, budget=budget, count_tokens=count_tokens, most_sources=most_sources)

    def gate(self, ledger: Ledger | Mapping[str, Any], *, reader: Reader, audience: Audience = "reader") -> Judgement:
        """Whether the evidence of an answer is complete. `ledger`: its sentences and what each rests on (docs/gate.schema.json)."""
        store = self._reading(reader)
        return judged(store, to_ledger(ledger), reader, access=self._access, relations=self._relations, audience=audience)

    def record_answer(self, answer: AnswerReport | Mapping[str, Any], *, reader: Reader, actor: str | None = None) -> Json:
        """Record what an answer rests on, as this reader sees it now, as a run. The same again writes nothing."""
        store = self._reading(reader)
        return answers.record_answers(
            store, reader, [to_report(answer, AnswerReport)], self._recording(actor), access=self._access)

    def answer(self, answer_id: str, *, reader: Reader) -> Json:
        """A recorded answer: each claim, its path, its evidence then and now. Raises NotFoundError."""
        return answers.show_answer(self._reading(reader), reader, answer_id, access=self._access)

    def impact(self, *, reader: Reader, since: int | None = None) -> Json:
        """Recorded claims that a change (after run `since`) concerns. Needs the role auditor or operator."""
        return answers.answer_impact(self._reading(reader), reader, since=since)

    def record_retrieval(self, retrieval: RetrievalReport | Mapping[str, Any], *, reader: Reader, actor: str | None = None) -> Json:
        """Record which passages a retriever returned: ids and scores, no text."""
        store = self._reading(reader)
        return retrievals.record_retrievals(store, reader, [to_report(retrieval, RetrievalReport)], self._recording(actor))

    def retrieval(self, trace_id: str, *, reader: Reader) -> Json:
        """What the retrievals of one trace returned, a row a passage, as the reader may know it now. Raises NotFoundError."""
        return retrievals.explain_retrieval(self._reading(reader), reader, trace_id, access=self._access)

    # Look-ups

    def edge(self, edge_id: str, *, reader: Reader, as_of: int | None = None) -> Json:
        """One edge with its active evidence. Raises NotFoundError, in the same words for a hidden edge as for an absent one."""
        store = self._reading(reader)
        if as_of is not None:
            return edge_as_of(store, reader, edge_id, as_of, access=self._access)
        return lookups.edge_show(store, reader, edge_id, access=self._access)

    def edge_history(self, edge_id: str, *, reader: Reader) -> Json:
        """Every citation of an edge, with the runs that added and retired it. Raises NotFoundError."""
        return lookups.edge_history(self._reading(reader), reader, edge_id, access=self._access)

    def edges(self, *, reader: Reader, withheld: bool = False, limit: int = 100, after: str | None = None) -> list[Json]:
        """Edges by id, those behind `after`. `withheld`: those not published, with the reasons, for auditors and operators."""
        return lookups.edge_list(self._reading(reader), reader, withheld, limit, after, access=self._access)

    def find_entities(self, text: str, *, reader: Reader, limit: int = 20) -> list[Json]:
        """Entities whose names, id or alias fit a text: exact ones first."""
        return lookups.entity_find(self._reading(reader), reader, text, limit, access=self._access)

    def entity(self, entity: Entity, *, reader: Reader, limit: int = 100) -> Json:
        """One entity: names, aliases, its edges counted, and the first `limit` of them. Raises NotFoundError."""
        return lookups.entity_show(self._reading(reader), reader, _entity(entity), limit=limit, access=self._access)

    # The operator

    def ingest(
        self, given: str | PathLike[str] | Iterable[str | PathLike[str]] | Iterable[Mapping[str, Any]], *, tenant: str | None = None,
        pipeline: str = "ingest", version: str = "1", actor: str | None = None, policies: Path | str | None = None,
        dry_run: bool = False, resume: int | None = None, workers: int = 2, rejects: Path | str | None = None,
        require_registered_sources: bool | None = None, trace_id: str | None = None,
    ) -> Summary:
        """Load standard records as one run: a path, several, or the records themselves (maps, one each). The same again writes nothing.

        A store without a schema gets it. `policies`: policy file of a store that has no order yet. A refused record goes to the file
        `rejects` (default: `<run>.rejected.jsonl` in the current folder) and the rest loads; `Summary.findings` says whether something
        was refused or withheld. Raises InputError for input that cannot be used as a whole.
        """
        settings = self._settings
        options = IngestOptions(
            policies=policies_for(settings, _path(policies)), tenant=tenant or settings.tenant, relations=self._relations or {},
            actor=actor or default_actor(settings), pipeline=pipeline, version=version, trace_id=trace_id, dry_run=dry_run,
            resume=resume, workers=workers, batch_size=settings.batch_size, rejects=_path(rejects),
            require_registered_sources=(
                settings.require_registered_sources if require_registered_sources is None else require_registered_sources),
            max_line_bytes=settings.max_line_bytes, lease_seconds=settings.lease_seconds, wait_seconds=settings.wait_seconds)
        with as_files(given) as files:
            database = self._database.patient(patience(settings))
            prepare(database, _say)
            return load(database, files, options, notify=_say)

    def verify(self, *, reader: Reader) -> Report:
        """Check every invariant on the live store, over all tenants. Needs the role operator or auditor."""
        store = self._reading(reader)
        require_role(reader, Role.OPERATOR, Role.AUDITOR, action="Checking the store")
        return verified(store)

    def runs(self, *, reader: Reader, limit: int = 50, before: int | None = None) -> list[Json]:
        """Run records, newest first. Needs the role operator or auditor."""
        return lookups.run_list(self._reading(reader), reader, limit=limit, before=before)

    def run(self, seq: int, *, reader: Reader) -> Json:
        """One run record. Needs the role operator or auditor. Raises NotFoundError."""
        return lookups.run_show(self._reading(reader), seq, reader)

    def _reading(self, reader: Reader) -> Database:
        """The database, once it is sure that somebody asks and that the schema is the one this program knows."""
        require_reader(reader)
        if not self._current:
            migrations.require_current(self._database)
            self._current = True
        return self._database

    def _recording(self, actor: str | None) -> RecordingOptions:
        settings = self._settings
        return RecordingOptions(
            actor or default_actor(settings), "python", lease_seconds=settings.lease_seconds, wait_seconds=settings.wait_seconds)


def _say(text: str) -> None:
    report("info", text)


def _entity(entity: Entity) -> Address:
    return address(entity) if isinstance(entity, str) else entity


def _path(path: Path | str | None) -> Path | None:
    return None if path is None else Path(path)


def _instant(instant: Instant | None) -> datetime | None:
    if not isinstance(instant, str):
        return instant
    try:
        return parse_instant(instant)
    except ValueError as error:
        raise InputError(f"at: {error}.") from None
