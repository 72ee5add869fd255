"""Pictures: everything is inside, nothing overlaps, and what is left out is counted."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_provenance.interfaces.web.pictures import Box, neighbourhood, path_picture, timeline


def thing(name: str) -> dict[str, Any]:
    return {"type": "System", "id": name, "name": name}


def apart(boxes: list[Box]) -> bool:
    return all(a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
               for place, a in enumerate(boxes) for b in boxes[:place])


@pytest.mark.parametrize("hops", [1, 3, 8])
def test_a_path_stands_from_top_to_bottom(hops: int) -> None:
    steps = [{"forward": n % 2 == 0, "relation": "calls", "current": n != 1, "evidence": [{"polarity": "supports"}]} for n in range(hops)]
    drawn = path_picture({"entities": [thing(str(n)) for n in range(hops + 1)], "steps": steps}, 2)
    assert apart(list(drawn.boxes))
    assert [hop.anchor for hop in drawn.hops] == [f"step-2-{n}" for n in range(1, hops + 1)]
    assert all(above.y + above.height == hop.top and hop.top + hop.height == below.y
               for above, hop, below in zip(drawn.boxes, drawn.hops, drawn.boxes[1:], strict=False))
    assert drawn.height >= drawn.boxes[-1].y + drawn.boxes[-1].height
    assert [hop.standing for hop in drawn.hops][:2] == ["current", "stale"][:hops]


@pytest.mark.parametrize(("incoming", "outgoing"), [(0, 1), (1, 0), (2, 6), (9, 9), (30, 12)])
def test_a_neighbourhood_has_two_sides(incoming: int, outgoing: int) -> None:
    edges = [{"outgoing": side, "other": thing(f"{side}{n}"), "relation": "calls", "standing": "current", "edge_id": f"{side}{n}"}
             for side, count in ((False, incoming), (True, outgoing)) for n in range(count)]
    drawn = neighbourhood(thing("here"), edges)
    assert drawn is not None
    boxes = [drawn.centre, *(link.box for link in (*drawn.incoming, *drawn.outgoing))]
    assert apart(boxes)
    assert all(box.x >= 0 and box.x + box.width <= drawn.width and box.y >= 0 and box.y + box.height <= drawn.height for box in boxes)
    assert len(boxes) - 1 + drawn.left_out == incoming + outgoing


def test_nothing_is_drawn_of_an_entity_alone() -> None:
    assert neighbourhood(thing("here"), []) is None


def cited(since: int, until: int | None) -> dict[str, Any]:
    return {"since": since, "until": until, "doc": "d@1"}


def test_a_timeline_keeps_the_order_of_runs() -> None:
    drawn = timeline([cited(1, 7), cited(1, None), cited(7, 300)])
    assert drawn is not None
    assert [seq for seq, _ in drawn.runs] == [1, 7, 300]
    assert [x for _, x in drawn.runs] == sorted(x for _, x in drawn.runs)
    assert [life.active for life in drawn.lives] == [False, True, False]
    assert all(life.x < life.end <= drawn.width for life in drawn.lives)


@pytest.mark.parametrize("history", [[], [cited(1, None)] * 41, [cited(n, n + 1) for n in range(1, 20)]])
def test_what_does_not_fit_is_not_drawn(history: list[dict[str, Any]]) -> None:
    assert timeline(history) is None
