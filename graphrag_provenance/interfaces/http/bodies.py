"""What a request may say (spec 5, HTTP). Never who asks: no field here names a tenant, a clearance or a role.

Owns: the form of bodies. Leaves to others: what a question is (`rules.claims`), what a ledger is (`rules.ledger`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from graphrag_provenance.rules.chains import LONGEST
from graphrag_provenance.rules.claims import Asked

_ADDRESS = r"^[A-Za-z][A-Za-z0-9_]{0,63}:\s*\S"
Address = Annotated[str, Field(pattern=_ADDRESS, max_length=2_064, examples=["System:checkout-api"])]
Relation = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
Audience = Literal["reader", "auditor"]
Seq = Annotated[int, Field(ge=1, lt=2**63)]


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
    at: Annotated[AwareDatetime, Field(strict=False)] | None = None
    """Instant at which every hop must be valid; absent: now."""


class TraceBody(ClaimBody):
    """One claim, and how it is asked."""

    audience: Audience = "reader"
    """Whose view; the auditor's needs that role."""
    as_of: Seq | None = None
    """Ask of the graph as it was after this run; access is that of today."""


class TracesBody(BaseModel):
    """Many claims, asked together."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)
    claims: Annotated[list[ClaimBody], Field(min_length=1, max_length=200)]
    """The claims; `id` is handed back with the answer."""
    audience: Audience = "reader"
    """Whose view; the auditor's needs that role."""
    as_of: Seq | None = None
    """Ask of the graph as it was after this run; access is that of today."""
