"""`python -m tests.fuzz --examples 20000 --seed 1`: hostile input to every command, on a store that may be emptied.

The server is that of NEO4J_URI (which must be empty, or GPROV_TEST_MAY_WIPE=1), else one that is started for the run. The seed is
printed. Every kind of fault is told once, with its shortest example. Ends with 1 if there is any.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests import conftest
from tests.fuzz.running import Runner
from tests.fuzz.subjects import furnish, subjects
from tests.fuzz.trying import attempt
from tests.oracle.__main__ import opened


def main() -> int:
    """Run, and print a report."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000, help="over all subjects; records and arguments get a quarter each")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--subject", action="append", choices=sorted(subjects()), help="only this one; repeatable")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    say(f"seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with opened(folder / "server") as (database, cypher):
            (folder / "work").mkdir()
            furnish(folder / "work")
            runner = Runner(database, cypher, folder / "work", conftest.Server(database.connection, disposable=True).environment(), say)
            with runner.ready():
                tried = 0
                for subject, examples in shares(given.examples, given.subject or list(subjects())).items():
                    begun, known = time.monotonic(), set(runner.faults)
                    tried += attempt(runner, subject, examples, seed)
                    new = len(set(runner.faults) - known)
                    say(f"{subject}: {examples} examples in {time.monotonic() - begun:.0f} s, {new} kinds of fault")
    for text in runner.faults.values():
        say(text)
    say(", ".join(f"{name} {count}" for name, count in sorted(runner.codes.items())))
    say(f"seed {seed}: {tried:,} examples, {runner.codes.total():,} commands, {len(runner.faults)} kinds of fault")
    return 1 if runner.faults else 0


def shares(examples: int, names: list[str]) -> dict[str, int]:
    """How many examples each subject gets."""
    weights = {name: 8 if name in ("records", "arguments") else 1 for name in names}
    return {name: max(1, examples * weight // sum(weights.values())) for name, weight in weights.items()}


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
