"""So many examples of one subject."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.running import Runner
from tests.fuzz.subjects import Example, subjects

_REFILLED = 400
"""After so many examples the store is checked, and holds the sample again."""


def attempt(runner: Runner, subject: str, examples: int, number: int, *, checked: bool = True) -> int:
    """Run them, all of them: faults are noted, not raised. `checked`: the store is, too. Returns how many were run."""
    run = 0

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(subjects()[subject])
    def each(example: Example) -> None:
        nonlocal run
        example(runner)
        run += 1
        if run % _REFILLED == 0:
            runner.verify(subject)
            runner.refill()

    each()
    if checked:
        runner.verify(subject)
        runner.refill()
    return run
