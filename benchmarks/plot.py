"""Draws measured ratios beside their goals: how many times better or worse than asked, one line a row of the table.

    python benchmarks/plot.py results.jsonl docs/images/benchmarks.svg

Owns: the picture. `results.jsonl` is what `run.py --json` writes. A point is the median, its line reaches from the worst round to the
best, and right of the middle the goal is met. Needs matplotlib (`pip install 'graphrag-provenance[bench]'`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams |= {"svg.hashsalt": "graphrag-provenance", "font.family": "sans-serif", "svg.fonttype": "none"}
from matplotlib import pyplot as plt  # noqa: E402 - after the choice of what draws

_MET, _MISSED, _QUIET = "#1b7a3d", "#b3261e", "#6b7280"


def rows(lines: Sequence[str]) -> list[Mapping[str, Any]]:
    """The ratios that have a goal, in the order of the file. Raises SystemExit naming a line that is not a result."""
    found = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise SystemExit(f"Line {number} is not JSON: {error}.") from None
        if row.get("ratio") and row.get("goal"):
            found.append(row)
    if not found:
        raise SystemExit("No ratio with a goal stands in that file: run benchmarks/run.py with --json first.")
    return found


def headroom(row: Mapping[str, Any], value: float) -> float:
    """How many times better than its goal a ratio is; below 1 the goal is missed."""
    sign, bound = row["goal"].split()
    return value / float(bound) if sign == "≥" else float(bound) / max(value, 1e-9)


def draw(found: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write the picture as SVG, the same bytes for the same results."""
    figure, axes = plt.subplots(figsize=(10, 0.42 * len(found) + 1.6))
    for place, row in enumerate(reversed(found)):
        middle = headroom(row, row["median"])
        ends = sorted(headroom(row, row[name]) for name in ("least", "most"))
        colour = _MET if row["met"] else _MISSED
        axes.plot(ends, [place, place], color=colour, linewidth=2, solid_capstyle="round")
        axes.plot([middle], [place], "o", color=colour, markersize=7)
        axes.annotate(f"{row['median']:g} (goal {row['goal']})", (1.01, place), xycoords=("axes fraction", "data"), va="center",
                      fontsize=9, color=colour)
    axes.axvline(1, color=_QUIET, linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} ×")
    axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if str(f"{value:.0e}")[0] in "25" else "")
    axes.set_yticks(range(len(found)), [row["ratio"] for row in reversed(found)], fontsize=9)
    axes.set_xlabel("times better than the goal: left of 1 it is missed")
    axes.grid(axis="x", color="#e5e7eb")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    first = found[0]
    axes.set_title(f"Ratios to the floor, {first['rounds']} rounds, Neo4j {first['neo4j']}", loc="left", fontsize=11)
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the results of a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, help="JSON lines of run.py --json")
    parser.add_argument("picture", type=Path, help="SVG file to write")
    asked = parser.parse_args(arguments)
    draw(rows(asked.results.read_text("utf-8").splitlines()), asked.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
