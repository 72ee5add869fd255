"""`python -m tests.oracle --reads 20000 --seed 1`: a long run against a store that may be emptied.

The server is that of NEO4J_URI (which must be empty, or GPROV_TEST_MAY_WIPE=1), else one that is started for the run. The seed is
printed; the same seed asks the same questions of the same worlds. `--world N` asks about the world of one seed only.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from graphrag_provenance.config import load_settings
from graphrag_provenance.store import migrations
from graphrag_provenance.store.database import Connection, Database
from tests import conftest
from tests.oracle.running import Cypher, Report, Runner

SHOWN = 20


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Database, Cypher]]:
    """A migrated store that may be emptied, and plain Cypher on it."""
    settings = load_settings(home=folder, workspace=folder)
    if settings.neo4j_uri is None:
        servers = conftest._local(folder)
    else:
        given = Connection(
            settings.neo4j_uri, settings.neo4j_username, settings.neo4j_password or SecretStr(""), settings.neo4j_database)
        if not conftest._may_wipe(given):
            sys.exit(f"{given.uri} holds data; set {conftest.MAY_WIPE}=1 if all of it may be deleted.")
        servers = iter([conftest.Server(given, disposable=True)])
    connection = next(servers).connection
    try:
        with conftest._driver(connection) as driver, Database(connection, read_timeout=120) as database:

            def cypher(text: str, /, **params: Any) -> list[dict[str, Any]]:
                with driver.session(database=connection.database) as session:
                    return [dict(record) for record in session.run(text, params)]

            migrations.apply(database)
            yield database, cypher
    finally:
        next(servers, None)


def main() -> int:
    """Run, tell how far it is on stderr, and print a report."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reads", type=int, default=20_000, help="how many reads, at least")
    parser.add_argument("--seed", type=int, default=None, help="which worlds; printed when not given")
    parser.add_argument("--world", type=int, default=None, help="only this world (its seed, as a difference names it)")
    parser.add_argument("--per-world", type=int, default=600, help="reads a world")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    say(f"seed {seed}")
    report = Report()
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as (database, cypher):
        runner = Runner(database, cypher, Path(folder), report)
        worlds = itertools.count(seed * 1_000) if given.world is None else [given.world]
        for number in worlds:
            if given.world is None and report.total >= given.reads:
                break
            runner.run(number, given.per_world)
            sys.stderr.write(f"world {number}: {report.total} reads, {len(report.differences)} differences\n")
    return told(report, seed)


def say(text: str) -> None:
    """One line on stdout, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def told(report: Report, seed: int) -> int:
    """Print what was asked and what differed. Returns the exit code."""
    for number, difference in report.differences[:SHOWN]:
        say(f"\nworld {number}\n{difference}")
    say(f"\nseed {seed}: {report.total} reads in {report.seconds:.0f} s, {len(report.differences)} differences")
    say("reads: " + ", ".join(f"{name} {count}" for name, count in sorted(report.reads.items())))
    say("traces: " + ", ".join(f"{name} {count}" for name, count in report.answers.most_common()))
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
