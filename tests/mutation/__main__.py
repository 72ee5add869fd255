"""`python -m tests.mutation --room rules --count 400 --seed 1`: faults planted in the running product, one at a time.

Each must turn a test red. What survives is printed as a difference of lines: write the test that kills it, or say in
docs/reliability.md why nothing can tell it from the original. The tests are collected once; each is first run without a fault, to see
that it passes and which functions and stored queries it reaches, then with each fault that it can reach. So a fault costs what its
tests cost, and the store that they share is loaded once, without any fault. No file is changed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.mutants import Mutant, of_cypher, of_python
from tests.mutation.planting import ROOT, place, planted, watched
from tests.mutation.rooms import ROOMS, at_once, files, with_server

PATIENCE = 20
"""Seconds that a test with a fault may take, beside six times what it takes without."""
EXAMPLES = 40
"""Of each property, at the most."""


def mutants(room: str) -> list[Mutant]:
    """Every mutant of a room."""
    return [mutant for file in files(ROOT, room)
            for mutant in (of_python if file.endswith(".py") else of_cypher)(file, (ROOT / file).read_bytes())]


@dataclass
class Campaign:
    """A plugin of pytest: instead of running the tests, it looks which of them notice which fault."""

    chosen: list[Mutant]
    quick: bool
    red: dict[Mutant, str] = field(default_factory=dict)
    unreachable: set[Mutant] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)
    seconds: dict[pytest.Item, float] = field(default_factory=dict)
    ended: bool = False

    def tests(self, mutant: Mutant) -> tuple[str, ...]:
        """The files of tests that concern a fault."""
        return tuple(dict.fromkeys((*at_once(ROOT, mutant.file), *(() if self.quick else with_server(mutant.file)))))

    def needed(self) -> list[str]:
        """Every file of tests that concerns one of them: those without a server first, then as `rooms.THEN` names them."""
        alone = {test for one in self.chosen for test in at_once(ROOT, one.file)}
        return list(dict.fromkeys((*sorted(alone, reverse=True), *(test for one in self.chosen for test in self.tests(one)))))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Ask each property for a few examples only."""
        for item in session.items:
            test = getattr(item, "obj", None)
            if (asked := getattr(test, "_hypothesis_internal_use_settings", None)) is not None:
                test._hypothesis_internal_use_settings = hypothesis.settings(asked, max_examples=min(asked.max_examples, EXAMPLES))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run each file of tests without a fault, then with every fault that concerns it and is not found yet. Ctrl-C ends it early."""
        with contextlib.suppress(KeyboardInterrupt):
            self.judge(session)
        return True

    def judge(self, session: pytest.Session) -> None:
        """One file of tests after another."""
        for test in self.needed():
            items = [item for item in session.items if item.path == ROOT / "tests" / test]
            concerned = [one for one in self.chosen if one not in self.red and test in self.tests(one)]
            if not concerned or not items:
                continue
            session._setupstate.teardown_exact(items[0])  # what the file before shared
            reached = {item: self.reaches(session, item, items) for item in items}
            for mutant in concerned:
                self.ask(session, mutant, [item for item in items if place(mutant) in reached[item]], items)
            say(f"{test}: {len(items)} tests, {len(concerned)} mutants, {sum(one in self.red for one in concerned)} red")
        self.ended = True

    def reaches(self, session: pytest.Session, item: pytest.Item, items: list[pytest.Item]) -> set[str]:
        """What a test reaches; nothing if it is red, or skipped, without any fault."""
        reached: set[str] = set()
        started = time.monotonic()
        with watched(reached):
            outcome = self.run(session, item, items)
        self.seconds[item] = time.monotonic() - started
        if outcome == "failed":
            self.broken.append(item.nodeid)
        return reached if outcome == "passed" else set()

    def ask(self, session: pytest.Session, mutant: Mutant, items: list[pytest.Item], every: list[pytest.Item]) -> None:
        """Whether one of the tests notices a fault."""
        with planted(mutant) as could:
            if not could:
                self.unreachable.add(mutant)
                return
            found = next((item for item in items if self.run(session, item, every) == "failed"), None)
        if found is not None:
            self.red[mutant] = found.nodeid
            if self.run(session, found, every) == "failed":
                self.broken.append(f"{found.nodeid} after {mutant}")

    def run(self, session: pytest.Session, item: pytest.Item, items: list[pytest.Item]) -> str:
        """`passed`, `failed` or `skipped`; what the module's tests share stays."""
        others = [one for one in items if one is not item] or [one for one in session.items if one is not item]

        def late(*_: Any) -> None:
            raise TimeoutError("a fault without an end")

        signal.signal(signal.SIGALRM, late)
        signal.alarm(PATIENCE + int(6 * self.seconds.get(item, 10 * PATIENCE)))
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                reports = runtestprotocol(item, nextitem=others[0] if others else None, log=False)
        except TimeoutError:  # it came while pytest told of the failure, for example of a recursion without an end
            session._setupstate.teardown_exact(others[0] if others else None)
            return "failed"
        finally:
            signal.alarm(0)
        outcomes = {report.outcome for report in reports}
        return next((one for one in ("failed", "skipped") if one in outcomes), "passed")


def main() -> int:
    """Plant the faults and tell which survive. Ends with 1 if any does, 2 if a test is red without a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--room", required=True, help=f"{', '.join(ROOMS)}, or a file or a pattern of files, from the top")
    parser.add_argument("--count", type=int, default=None, help="how many, at random (default: all)")
    parser.add_argument("--seed", type=int, default=None, help="which ones; printed when not given")
    parser.add_argument("--kind", default=None, help="only faults of this kind, for example 'condition dropped'")
    parser.add_argument("--quick", action="store_true", help="only the tests without a server, and only what they test")
    parser.add_argument("-k", dest="named", default="", help="only tests of such names, as pytest takes it")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    every = [one for one in mutants(given.room) if given.kind in (None, one.kind) and (not given.quick or at_once(ROOT, one.file))]
    chosen = every if given.count is None else random.Random(seed).sample(every, min(given.count, len(every)))
    campaign = Campaign(sorted(chosen, key=lambda one: (one.file, one.begin)), given.quick)
    say(f"seed {seed}: {len(chosen)} of {len(every)} mutants")
    hypothesis.settings.register_profile(
        "mutants", max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck))
    started = time.monotonic()
    pytest.main(["-q", "-o", "addopts=", "-n0", "--hypothesis-profile=mutants", "-p", "no:cacheprovider", "--tb=no", "--no-summary",
                 "-k", given.named, *(str(ROOT / "tests" / test) for test in campaign.needed())], plugins=[campaign])
    for line in told(campaign):
        say(line)
    say(f"seed {seed}, {given.room}: {len(chosen)} mutants in {time.monotonic() - started:.0f} s: {len(campaign.red)} killed, "
        f"{len(survivors(campaign))} survived, {len(campaign.unreachable - campaign.red.keys())} are executed on import and not tried")
    return 2 if campaign.broken else 1 if survivors(campaign) else 0


def survivors(campaign: Campaign) -> list[Mutant]:
    """The faults that no test noticed."""
    return [one for one in campaign.chosen if one not in campaign.red and one not in campaign.unreachable]


def told(campaign: Campaign) -> Iterator[str]:
    """The survivors, and what is wrong with the tests themselves."""
    if not campaign.ended:
        yield "ended early: not every fault met every test"
    yield from (f"survived {one}" for one in survivors(campaign))
    yield from (f"red without a fault: {one}" for one in campaign.broken)
    kinds = Counter(one.kind for one in campaign.red)
    yield "killed: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
