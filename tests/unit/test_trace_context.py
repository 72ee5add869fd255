"""What names a trace, and what does not (W3C Trace Context)."""

from __future__ import annotations

import pytest

from graphrag_provenance.model.trace_context import parse_trace_id

ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


@pytest.mark.parametrize("text", [ID, f"00-{ID}-{PARENT}-01", f"00-{ID}-{PARENT}-00", f"cc-{ID}-{PARENT}-01-what-the-future-brings"])
def test_a_trace_is_named_by_its_id_or_by_a_traceparent(text: str) -> None:
    assert parse_trace_id(text) == ID


@pytest.mark.parametrize("text", [
    "", " ", ID[:-1], ID + "0", ID.upper(), f" {ID}", f"{ID}\n", "0" * 32, "g" * 32, f"00-{ID}-{PARENT}", f"00-{ID}-{PARENT}-01\n",
    f"00-{ID.upper()}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", f"00-{ID}-{'0' * 16}-01", f"ff-{ID}-{PARENT}-01",
    f"00-{ID}-{PARENT}-01-more", f"0-{ID}-{PARENT}-01", f"00-{ID}-{PARENT}-1", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736",
])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="trace"):
        parse_trace_id(text)
