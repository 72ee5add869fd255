"""Instants: one way in, one way out (spec 3, as-of)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from graphrag_provenance.model.instants import format_instant, now, parse_instant


@pytest.mark.parametrize("text", [
    "2026-03-01T00:00:00Z", "2026-03-01T00:00:00z", "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00-00:00",
    "2026-03-01T00:00:00[UTC]", "2026-03-01T00:00:00Z[UTC]", "2026-03-01T00:00:00+00:00[UTC]",
    "2026-03-01T00:00:00[Etc/UTC]", "2026-03-01T00:00:00[GMT]",
    "2026-03-01T01:00:00+01:00", "2026-03-01T01:00:00+0100", "2026-03-01T01:00:00[Europe/Berlin]",
    "2026-03-01T01:00:00+01:00[Europe/Berlin]", "2026-03-01T00:00:00Z[Europe/Berlin]",
    "2026-02-28T19:00:00-05:00", "2026-03-01T00:00Z", "2026-03-01 00:00:00Z", "2026-03-01t00:00:00Z",
    "2026-03-01T00:00:00.000000Z", "2026-03-01T00:00:00.000000000Z", " 2026-03-01T00:00:00Z\n",
])
def test_every_spelling_of_a_boundary_is_the_same_instant(text: str) -> None:
    assert parse_instant(text) == datetime(2026, 3, 1, tzinfo=UTC)
    assert parse_instant(text).tzinfo is UTC


@pytest.mark.parametrize(("text", "utc"), [
    ("2026-07-01T12:00:00[Europe/Berlin]", "2026-07-01T10:00:00Z"),
    ("2026-01-01T12:00:00[Europe/Berlin]", "2026-01-01T11:00:00Z"),
    ("2026-03-29T01:59:59[Europe/Berlin]", "2026-03-29T00:59:59Z"),
    ("2026-03-29T03:00:00[Europe/Berlin]", "2026-03-29T01:00:00Z"),
    ("2026-10-25T02:30:00+02:00[Europe/Berlin]", "2026-10-25T00:30:00Z"),
    ("2026-10-25T02:30:00+01:00[Europe/Berlin]", "2026-10-25T01:30:00Z"),
    ("2026-03-01T00:00:00.1Z", "2026-03-01T00:00:00.100000Z"),
    ("2026-03-01T00:00:00.123456Z", "2026-03-01T00:00:00.123456Z"),
    ("2026-03-01T00:00:00.123456000Z", "2026-03-01T00:00:00.123456Z"),
    ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
])
def test_instants_go_in_with_a_zone_and_out_in_utc(text: str, utc: str) -> None:
    assert format_instant(parse_instant(text)) == utc
    assert parse_instant(utc) == parse_instant(text)


@pytest.mark.parametrize(("text", "message"), [
    ("2026-03-01T00:00:00", "has no time zone"),
    ("2026-03-01", "has no time of day; write for example 2026-03-01T00:00:00Z"),
    ("2026-03-01Z", "has no time of day"),
    ("2026-03-01T00:00:00.1234567Z", "finer than a microsecond"),
    ("2026-03-01T00:00:00.000000001Z", "finer than a microsecond"),
    ("2026-03-29T02:30:00[Europe/Berlin]", "skipped or repeated"),
    ("2026-03-29T02:00:00[Europe/Berlin]", "skipped or repeated"),
    ("2026-10-25T02:30:00[Europe/Berlin]", "skipped or repeated"),
    ("2026-10-25T02:00:00[Europe/Berlin]", "skipped or repeated"),
    ("2026-10-25T02:30:00+03:00[Europe/Berlin]", "does not belong to the zone"),
    ("2026-07-01T12:00:00+01:00[Europe/Berlin]", "does not belong to the zone"),
    ("2026-03-01T00:00:00[Europe/Atlantis]", "not a known time zone"),
    ("2026-03-01T00:00:00[Europe]", "not a known time zone"),
    ("2026-03-01T00:00:00[/etc/localtime]", "not a known time zone"),
    ("2026-02-29T00:00:00Z", "day"),
    ("2026-13-01T00:00:00Z", "month"),
    ("2026-03-01T25:00:00Z", "hour"),
    ("2026-03-01T00:00:60Z", "second"),
    ("2026-03-01T00:00:00+99:00", "offset|timedelta"),
    ("0000-01-01T00:00:00Z", "year"),
    ("0001-01-01T00:00:00+01:00", "outside the supported years"),
    ("9999-12-31T23:59:59-01:00", "outside the supported years"),
    ("٢٠٢٦-03-01T00:00:00Z", "not an ISO 8601 date-time"),
    ("1767225600", "not an ISO 8601 date-time"),
    ("20260301T000000Z", "not an ISO 8601 date-time"),
    ("yesterday", "not an ISO 8601 date-time"),
    ("", "not an ISO 8601 date-time"),
])
def test_what_cannot_be_read_without_guessing_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_instant(text)


def test_an_instant_in_another_zone_is_written_in_utc() -> None:
    assert format_instant(datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == "2026-03-01T00:00:00Z"


def test_a_naive_time_is_never_written() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        format_instant(datetime(2026, 3, 1))


def test_now_is_utc() -> None:
    assert now().tzinfo is UTC
