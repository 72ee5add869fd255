"""What a request may say (spec 5, HTTP). Never who asks: no field here names a tenant, a clearance or a role.

Owns: the form of bodies. Leaves to others: what a question is (`rules.claims`), what a ledger is (`rules.ledger`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from graphrag_provenance.model.records import Instant
from graphrag_provenance.model.reports import AnswerReport, RetrievalReport
from graphrag_provenance.rules.chains import LONGEST
from graphrag_provenance.rules.claims import Asked

_ADDRESS = r"^[A-Za-z][A-Za-z0-9_]{0,63}:\s*\S"
Address = Annotated[str, Field(pattern=_ADDRESS, max_length=2_064, examples=["System:checkout-api"])]
Relation = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
Audience = Literal["reader", "auditor"]


def _whole(value: object) -> object:
    """JSON has one kind of number: 6.0 is 6."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Seq = Annotated[int, Field(ge=1, lt=2**53)]  # what every JSON reader keeps exactly
_Most = Annotated[int, Field(ge=1, le=1_000_000)]
_Hops = Annotated[int, Field(ge=1, le=LONGEST)]
Seq = Annotated[_Seq, BeforeValidator(_whole, json_schema_input_type=_Seq)]
Hops = Annotated[_Hops, BeforeValidator(_whole, json_schema_input_type=_Hops)]


class ClaimBody(Asked):
    """One claim: does a chain of evidenced edges lead from one entity to the other?"""

    model_config = ConfigDict(title="Claim", json_schema_extra={"not": {
        "required": ["relations", "over"], "properties": {"relations": {"minItems": 1}, "over": {"minItems": 1}}}})
    from_: Address = Field(alias="from")
    """Where the claim starts, Type:id or Type:name."""
    to: Address
    """Where it ends."""
    relations: list[Relation] = Field(default_factory=list, max_length=LONGEST)
    """The exact relations, hop by hop; empty: any chain. Not together with `over`."""
    over: list[Relation] = Field(default_factory=list, max_length=100)
    """Relations that may be walked, in any order; empty: all."""
    max_hops: Hops | None = None
    """Longest chain; absent: the service's own."""
    at: Instant | None = None
    """Instant at which every hop must be valid; absent: now."""


class TraceBody(ClaimBody):
    """One claim, and how it is asked."""

    audience: Audience = "reader"
    """Whose view; the auditor's needs that role."""
    as_of: Seq | None = None
    """Ask of the graph as it was after this run; access is that of today."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class TracesBody(_Body):
    """Many claims, asked together."""

    claims: Annotated[list[ClaimBody], Field(min_length=1, max_length=200)]
    """The claims; `id` is handed back with the answer."""
    audience: Audience = "reader"
    """Whose view; the auditor's needs that role."""
    as_of: Seq | None = None
    """Ask of the graph as it was after this run; access is that of today."""


class AnswerBody(AnswerReport):
    """An answer that was given: its claims, and what each rests on."""

    generation: Seq | None = None
    """The generation that the answer was made from (`generation` of a trace); absent: the present one."""


class AnswersBody(_Body):
    """Answers to be recorded."""

    answers: Annotated[list[AnswerBody], Field(min_length=1, max_length=100)]
    """The answers, as in a file of `gprov answer record`."""


class RetrievalBody(RetrievalReport):
    """What one retrieval asked for and got: ids and scores, no text."""

    k: Annotated[_Most, BeforeValidator(_whole, json_schema_input_type=_Most)] | None = None
    """How many passages were asked for."""
    generation: Seq | None = None
    """The generation that the index was built from; absent: the present one."""


class RetrievalsBody(_Body):
    """Retrievals to be recorded."""

    retrievals: Annotated[list[RetrievalBody], Field(min_length=1, max_length=100)]
    """The retrievals, as in a file of `gprov retrieval record`."""
