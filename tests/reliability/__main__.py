"""`python -m tests.reliability --cuts 50 --seed 1`: faults injected at random points of every kind of run, on a server of its own.

The seed is printed; the same seed cuts the same runs after the same times (when a machine is as fast). Ends with 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.reliability.bulk import BULK_KINDS, Bulk
from tests.reliability.campaign import Campaign
from tests.reliability.cutting import KINDS, Bench, Kind, small_disk

MEGABYTES = 256


def main() -> int:
    """Run the campaign and print its report."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.reliability", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kind", choices=KINDS, action="append", help="what dies; repeatable, default: all")
    parser.add_argument("--disk", action="store_true", help="instead: the disk is full for a while (needs root, on Linux)")
    parser.add_argument("--bulk", action="store_true", help="instead: bulk loads alone, by the files, the import and its end")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    say(f"seed {seed}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given.disk:
            stack.enter_context(small_disk(folder / "home", MEGABYTES))
        rng = random.Random(seed)
        if given.bulk:
            return _bulk_alone(stack.enter_context(Bulk(folder / "bulk", rng)), given.cuts, rng)
        kinds: tuple[Kind, ...] = ("disk",) if given.disk else tuple(given.kind or KINDS)
        bulk = None if given.disk else stack.enter_context(Bulk(folder / "bulk", rng))
        bench = stack.enter_context(Bench(folder, movable="clock" in kinds).running())
        campaign = Campaign(bench, folder, rng, say, bulk)
        campaign.learn()
        report = campaign.run(given.cuts, kinds)
    for name, counts in (("cuts", report.cuts), ("completed", report.completed)):
        say(f"{name}: " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    say(f"seed {seed}: {report.cuts.total()} cuts, {bench.restarts} kills of the server, {report.crowds} crowds of three writers, "
        f"{len(report.wrong)} wrong")
    return 1 if report.wrong else 0


def _bulk_alone(bulk: Bulk, cuts: int, rng: random.Random) -> int:
    wrong: list[str] = []
    for number in range(1, cuts + 1):
        say(f"{number}: {bulk.cut(rng.choice(BULK_KINDS), wrong.append)}; {len(wrong)} wrong")
    for what in wrong:
        say(f"WRONG {what}")
    return 1 if wrong else 0


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
