"""Where everything stands in a picture: a path, an entity's neighbourhood, the life of an edge's evidence.

Owns: coordinates, and which words are cut to fit. Everything drawn is said again as text on the page. Leaves to others: the marks
(`templates/_pictures.html`) and the answers drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_provenance.interfaces.web.evidence import standing

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Box:
    """An entity."""

    x: int
    y: int
    width: int
    height: int
    entity: Json


@dataclass(frozen=True, slots=True)
class Hop:
    """A step between two boxes of a path."""

    number: int
    anchor: str
    top: int
    height: int
    forward: bool
    relation: str
    standing: str
    citations: int


@dataclass(frozen=True, slots=True)
class PathPicture:
    """A path, from top to bottom."""

    width: int
    height: int
    spine: int
    boxes: tuple[Box, ...]
    hops: tuple[Hop, ...]


_BOX, _GAP, _WIDTH, _EDGE = 58, 86, 320, 2


def path_picture(path: Json, number: int) -> PathPicture:
    """A path; `number`: which one of the answer, so that the anchors of its steps differ from those of others."""
    step_height = _BOX + _GAP
    boxes = tuple(Box(_EDGE, _EDGE + place * step_height, _WIDTH - 2 * _EDGE, _BOX, entity)
                  for place, entity in enumerate(path["entities"]))
    hops = tuple(
        Hop(place + 1, f"step-{number}-{place + 1}", boxes[place].y + _BOX, _GAP, step["forward"], step["relation"], standing(step),
            len(step["evidence"]))
        for place, step in enumerate(path["steps"]))
    return PathPicture(_WIDTH, boxes[-1].y + _BOX + _EDGE, 34, boxes, hops)


@dataclass(frozen=True, slots=True)
class Link:
    """An edge between the entity in the middle and one beside it."""

    box: Box
    relation: str
    standing: str
    edge_id: str
    start: int
    end: int
    """Where the line begins and ends, at the box and at the middle."""
    bend: int
    """Where the line leaves the level of its box."""
    label: int
    """Where the name of the relation begins."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What leads to an entity on the left, what it leads to on the right."""

    width: int
    height: int
    centre: Box
    incoming: tuple[Link, ...]
    outgoing: tuple[Link, ...]
    left_out: int


_MOST_LINKS = 9
_ROW, _SIDE, _REACH, _CENTRE = 58, 214, 206, 200
_SAID = 132
"""How much of the way between two boxes a relation's name takes."""


def neighbourhood(entity: Json, edges: Sequence[Json]) -> Neighbourhood | None:
    """An entity with the first edges on each side; None where there is nothing to draw."""
    sides = {side: [one for one in edges if one["outgoing"] is side][:_MOST_LINKS] for side in (False, True)}
    drawn = sum(map(len, sides.values()))
    if not drawn:
        return None
    rows = max(map(len, sides.values()))
    height = rows * _ROW
    left = _SIDE + _REACH if sides[False] else 0
    centre = Box(left, height // 2 - 27, _CENTRE, 54, entity)
    width = left + _CENTRE + (_REACH + _SIDE if sides[True] else 0)

    def links(outgoing: bool) -> tuple[Link, ...]:
        here = sides[outgoing]
        first = (height - len(here) * _ROW) // 2
        x = centre.x + _CENTRE + _REACH if outgoing else 0
        start = x if outgoing else _SIDE
        end = centre.x + _CENTRE if outgoing else centre.x
        return tuple(
            Link(Box(x, first + place * _ROW + 6, _SIDE, _ROW - 12, one["other"]), one["relation"], one["standing"], one["edge_id"],
                 start, end, start - _SAID if outgoing else start + _SAID, start - _SAID + 4 if outgoing else start + 10)
            for place, one in enumerate(here))

    return Neighbourhood(width, height, centre, links(False), links(True), len(edges) - drawn)


@dataclass(frozen=True, slots=True)
class Life:
    """One citation over the runs."""

    y: int
    x: int
    end: int
    active: bool
    label: str
    number: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The citations of an edge over the runs that brought and retired them."""

    width: int
    height: int
    runs: tuple[tuple[int, int], ...]
    """(number of the run, where it stands)."""
    lives: tuple[Life, ...]


_LABEL, _SPAN, _LINE = 190, 430, 34
_MOST_LIVES = 40


def timeline(history: Sequence[Json]) -> Timeline | None:
    """Only runs that brought or retired something are drawn, at equal distances: what counts is their order. None: too much to draw."""
    runs = sorted({one[side] for one in history for side in ("since", "until") if one[side] is not None})
    if not history or len(history) > _MOST_LIVES or len(runs) > 12:
        return None
    step = _SPAN // len(runs)
    place = {seq: _LABEL + number * step for number, seq in enumerate(runs)}
    end = _LABEL + _SPAN
    lives = tuple(
        Life(46 + number * _LINE, place[one["since"]], end if one["until"] is None else place[one["until"]], one["until"] is None,
             one["doc"], number + 1)
        for number, one in enumerate(history))
    return Timeline(end + 20, 46 + len(history) * _LINE, tuple(place.items()), lives)
