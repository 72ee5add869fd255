"""Instants: one way in, one way out (spec 3, as-of).

Owns: reading ISO 8601 with an explicit zone (`Z`, `+00:00`, `[Europe/Berlin]`) and writing UTC.
Rule: a time without a zone, or finer than a microsecond, is an error, because guessing or cutting it would change
which side of a boundary it falls on.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_FORM = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?:\.(?P<fraction>\d{1,9}))?)?"
    r"(?P<offset>[Zz]|[+-]\d{2}:?\d{2})?"
    r"(?:\[(?P<zone>[A-Za-z0-9_+\-/]+)\])?",
    re.ASCII,
)


def parse_instant(text: str) -> datetime:
    """The UTC instant that `text` names. Raises ValueError with a sentence that says what is wrong."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not an ISO 8601 date-time, for example 2026-01-31T08:00:00Z")
    if match["time"] is None:
        raise ValueError(f"'{text}' has no time of day; write for example {match['date']}T00:00:00Z")
    fraction = match["fraction"] or ""
    if fraction[6:].strip("0"):
        raise ValueError(f"'{text}' is finer than a microsecond")
    offset, zone = match["offset"], match["zone"]
    if offset is None and zone is None:
        raise ValueError(f"'{text}' has no time zone; add Z, an offset or a [Zone/Name]")
    base = f"{match['date']}T{match['time']}" + (f".{fraction[:6]:0<6}" if fraction else "")
    try:
        if offset is not None:
            instant = datetime.fromisoformat(base + ("+00:00" if offset in "Zz" else offset))
            zoned = instant if zone is None else instant.astimezone(_zone(zone))
            if offset not in "Zz" and zoned.utcoffset() != instant.utcoffset():
                raise ValueError(f"'{text}': the offset does not belong to the zone [{zone}]")
        else:
            instant = _in_zone(datetime.fromisoformat(base), _zone(match["zone"]), text)
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"'{text}' lies outside the supported years") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo("UTC" if name in ("Z", "GMT") else name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"'[{name}]' is not a known time zone") from None


def _in_zone(local: datetime, zone: ZoneInfo, text: str) -> datetime:
    """Local time in a zone; a time that a clock change skips or repeats is refused rather than guessed."""
    first, second = local.replace(tzinfo=zone, fold=0), local.replace(tzinfo=zone, fold=1)
    if first.utcoffset() != second.utcoffset():
        raise ValueError(f"'{text}' is skipped or repeated by a clock change in [{zone.key}]; write the offset")
    return first


def format_instant(instant: datetime) -> str:
    """ISO 8601 in UTC ending in `Z`, without a fraction when it is zero."""
    if instant.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    utc = instant.astimezone(UTC)
    return utc.isoformat(timespec="microseconds" if utc.microsecond else "seconds").replace("+00:00", "Z")


def now() -> datetime:
    """The current instant, in UTC."""
    return datetime.now(UTC)
