"""What was measured, and how it is told: values and ratios by name, median, least and most.

Owns: the clock and the processor time of one step, goals, and the tables and lines of a report.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from servers import Bench


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound that the median of a ratio must keep."""

    sign: Literal["≥", "≤"]
    bound: float

    def met(self, values: Sequence[float]) -> bool:
        """Whether the median keeps the bound."""
        middle = statistics.median(values)
        return middle >= self.bound if self.sign == "≥" else middle <= self.bound

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


@dataclass
class Report:
    """Measured values by name, and ratios with their goals."""

    edges: int
    server: str
    values: dict[str, list[float]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    ratios: dict[str, tuple[list[float], Goal | None]] = field(default_factory=dict)

    def value(self, name: str, unit: str, value: float) -> None:
        """One value of one round."""
        self.values.setdefault(name, []).append(value)
        self.units[name] = unit

    def ratio(self, name: str, value: float, goal: Goal | None = None) -> None:
        """One ratio of one round, with the goal it has."""
        self.ratios.setdefault(name, ([], goal))[0].append(value)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Everything as JSON values, one a name."""
        common = {"schema": 1, "edges": self.edges, "neo4j": self.server, "load1": round(os.getloadavg()[0], 2)}
        for name, values in self.values.items():
            yield {**common, "name": name, "unit": self.units[name], **_spread(values)}
        for name, (values, goal) in self.ratios.items():
            told = {"goal": str(goal), "met": goal.met(values)} if goal else {}
            yield {**common, "ratio": name, **told, **_spread(values)}

    @property
    def missed(self) -> list[str]:
        """Ratios whose median misses its goal."""
        return [name for name, (values, goal) in self.ratios.items() if goal and not goal.met(values)]

    def show(self, console: Console) -> None:
        """Two tables: what was measured, and the ratios."""
        table = Table("measured", "median", "least", "most", "unit", title=f"{self.edges:,} edges, Neo4j {self.server}")
        for name, values in self.values.items():
            table.add_row(name, *(_plain(v) for v in _spread(values).values() if isinstance(v, float)), self.units[name])
        console.print(table)
        table = Table("ratio", "median", "least", "most", "goal", "met")
        for name, (values, goal) in self.ratios.items():
            row = (_plain(v) for v in _spread(values).values() if isinstance(v, float))
            table.add_row(name, *row, str(goal or ""), "" if goal is None else "yes" if goal.met(values) else "no")
        console.print(table)


def _spread(values: Sequence[float]) -> dict[str, float | int]:
    return {"median": round(statistics.median(values), 3), "least": round(min(values), 3), "most": round(max(values), 3),
            "rounds": len(values)}


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def seconds_of(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@dataclass(frozen=True, slots=True)
class Cost:
    """What one step took: seconds of the clock, and of the processors where that can be known."""

    seconds: float
    client: float | None
    server: float | None

    @property
    def cpu(self) -> float | None:
        """Both together."""
        return None if self.client is None or self.server is None else self.client + self.server

    @classmethod
    def of(cls, server: Bench, work: Callable[[], Any]) -> Cost:
        """The cost of one call."""
        before = server.cpu()
        seconds = seconds_of(work)
        after = server.cpu()
        if before is None or after is None:
            return cls(seconds, None, None)
        return cls(seconds, after[0] - before[0], after[1] - before[1])
