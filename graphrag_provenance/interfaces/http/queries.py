"""What the address of a request may say (spec 5, HTTP). Any other name in it is refused, so that nobody believes it was heard.

Owns: names and bounds. Leaves to others: what is looked up (`store`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from graphrag_provenance.interfaces.http.bodies import Address, Seq
from graphrag_provenance.model.reports import TraceId
from graphrag_provenance.store.lookups import MOST_ROWS

Id = Annotated[str, Field(min_length=1, max_length=2_000)]
Limit = Annotated[int, Field(ge=1, le=MOST_ROWS)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class OneEdge(_Asked):
    """One edge."""

    id: Id
    """Edge id."""


class EdgeThen(OneEdge):
    """One edge, now or after a run."""

    as_of: Seq | None = None
    """The edge as it was published after this run; access is that of today."""


class EdgePage(_Asked):
    """A page of edges."""

    limit: Limit = 100
    """Most rows."""
    after: Annotated[str, Field(max_length=2_000)] = ""
    """Go on behind this edge id."""


class EntityText(_Asked):
    """A search for entities."""

    text: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    """A part of a name, an id or an alias."""
    limit: Limit = 20
    """Most rows."""


class OneEntity(_Asked):
    """One entity."""

    address: Address
    """Type:id, or Type:alias."""
    limit: Limit = 100
    """Most edges."""


class OneDocument(_Asked):
    """One document, or one revision."""

    id: Id
    """Document id, or doc@version for one revision."""
    limit: Limit = 100
    """Most edges."""


class TwoRevisions(_Asked):
    """Two revisions of one document."""

    id: Id
    """Document id."""
    before: Annotated[str, Field(min_length=1, max_length=1_000, pattern="^[^@]+$")]
    """The older version."""
    after: Annotated[str, Field(min_length=1, max_length=1_000, pattern="^[^@]+$")]
    """The newer version."""


class OneAnswer(_Asked):
    """One recorded answer."""

    id: Id
    """Answer id."""


class Since(_Asked):
    """From when on."""

    since: Annotated[int, Field(ge=0, lt=2**53)] | None = None
    """Only what runs after this one changed; absent: since each answer was recorded."""


class RunPage(_Asked):
    """A page of runs."""

    limit: Limit = 50
    """Most rows."""
    before: Seq | None = None
    """Runs before this one."""


class TwoRuns(_Asked):
    """Two runs, and where to go on."""

    before: Annotated[int, Field(ge=0, lt=2**53)]
    """The earlier run; 0: the empty store."""
    after: Seq
    """The later run."""
    start: Annotated[str, Field(max_length=2_000)] = ""
    """Go on behind this edge id."""
    limit: Limit = 100
    """Most edges."""


class OneTrace(_Asked):
    """One trace."""

    trace_id: TraceId
    """W3C trace id, 32 hex digits."""


class Nothing(_Asked):
    """No parameter at all."""


EdgeQuery = Annotated[OneEdge, Query()]
EdgeThenQuery = Annotated[EdgeThen, Query()]
EdgePageQuery = Annotated[EdgePage, Query()]
EntityTextQuery = Annotated[EntityText, Query()]
EntityQuery = Annotated[OneEntity, Query()]
DocumentQuery = Annotated[OneDocument, Query()]
RevisionsQuery = Annotated[TwoRevisions, Query()]
AnswerQuery = Annotated[OneAnswer, Query()]
SinceQuery = Annotated[Since, Query()]
RunPageQuery = Annotated[RunPage, Query()]
RunsQuery = Annotated[TwoRuns, Query()]
RetrievalQuery = Annotated[OneTrace, Query()]
NoQuery = Annotated[Nothing, Query()]
