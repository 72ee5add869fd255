"""Commands, run in this process on a store that may be emptied, and what must be true of each however it ends."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from graphrag_provenance.ingest import IngestOptions, ingest
from graphrag_provenance.interfaces.cli.app import app
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.policies import parse_policies
from graphrag_provenance.rules.rejects import RejectCode
from graphrag_provenance.store.database import Database
from graphrag_provenance.store.runs import store_state

SAMPLE = etl_path("samples", "payments")
READER = ("--tenant", "ACME", "--clearance", "internal")
_CODES = {code.value for code in RejectCode}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_EMPTY = "MATCH (n) WHERE NOT n:Migration CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS"


@dataclass
class Runner:
    """Runs commands in an empty folder against the store, and collects what is wrong."""

    database: Database
    cypher: Callable[..., Any]
    folder: Path
    environment: dict[str, str]
    say: Callable[[str], None] = lambda _: None
    faults: dict[str, str] = field(default_factory=dict)
    """What is wrong, by what makes two of them one; with the shortest example."""
    codes: Counter[str] = field(default_factory=Counter)
    """How commands ended, by subject and exit code."""

    @contextmanager
    def ready(self) -> Iterator[Runner]:
        """In the folder, with the environment of a command, over the sample."""
        before, place = dict(os.environ), Path.cwd()
        for name in [name for name in os.environ if name.startswith(("NEO4J_", "GRAPHRAG_PROVENANCE_", "OTEL_"))]:
            del os.environ[name]
        os.environ.update(self.environment, GRAPHRAG_PROVENANCE_HOME=str(self.folder / "home"), GRAPHRAG_PROVENANCE_WAIT_SECONDS="0")
        os.chdir(self.folder)
        try:
            self.refill()
            yield self
        finally:
            os.chdir(place)
            os.environ.clear()
            os.environ.update(before)

    def refill(self) -> None:
        """The store holds the sample and nothing else."""
        self.cypher(_EMPTY)
        ingest(self.database, sorted(SAMPLE.glob("*.jsonl")), IngestOptions(parse_policies((SAMPLE / "policies.toml").read_text("utf-8"))))

    def graph_hash(self) -> str:
        """Of the store as it stands."""
        return str((store_state(self.database) or {}).get("graph_hash"))

    def run(self, subject: str, arguments: Sequence[str], example: object, stdin: bytes = b"") -> Any:
        """One command. Whatever it is: no exception leaves it, its code is documented, and an error is one clear sentence."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = CliRunner().invoke(app, list(arguments), input=stdin)
        self.codes[f"{subject} {done.exit_code}"] += 1
        told = done.stderr
        errors = [line for line in told.splitlines() if line.startswith("Error: ") or line.startswith('{"schema": 1, "error"')]
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            self.fault(subject, f"left the boundary: {type(done.exception).__name__}", arguments, example, told)
        if "Traceback" in told or re.search(r"Error: Unexpected \w+: ", told):
            found = re.search(r"Unexpected (\w+): (.{0,60})", told)
            self.fault(subject, f"unexpected: {found[0] if found else 'traceback'}", arguments, example, told)
        if done.exit_code not in (0, 1, 2, 3):
            self.fault(subject, f"exit code {done.exit_code}", arguments, example, told)
        if done.exit_code in (2, 3) and len(errors) != 1:
            self.fault(subject, f"{len(errors)} errors told", arguments, example, told)
        if control := _CONTROL.search(told):
            self.fault(subject, f"control character {control[0]!r} on stderr", arguments, example, told)
        if control := _CONTROL.search(done.stdout):
            self.fault(subject, f"control character {control[0]!r} on stdout", arguments, example, done.stdout)
        return done

    def fault(self, subject: str, what: str, arguments: Sequence[str], example: object, told: str) -> None:
        """Note what is wrong; of two like it, the shorter one."""
        text = f"{subject}: {what}\n  gprov {' '.join(map(ascii, arguments))}\n  input {example!r:.3000}\n  told {told[-600:]!r}"
        known = self.faults.get(f"{subject}: {what}")
        if known is None or len(text) < len(known):
            self.faults[f"{subject}: {what}"] = text
        if known is None:
            self.say(f"fault: {subject}: {what}")

    def load(self, data: bytes, *, dry: bool, again: bool) -> None:
        """A file of records: every record that was read is accepted or refused with its place; what did not load left nothing."""
        file, rejects = self.folder / "in.jsonl", self.folder / "in.rejected"
        file.write_bytes(data)
        rejects.unlink(missing_ok=True)
        before = self.graph_hash()
        arguments = ["ingest", "in.jsonl", "--rejects", rejects.name, "--tenant", "FUZZ", "--format", "json"]
        predicted = self._summary([*arguments, "--dry-run"], data) if dry else None
        if dry and self.graph_hash() != before:
            self.fault("records", "a dry run wrote", arguments, data, "")
        rejects.unlink(missing_ok=True)
        body = self._summary(arguments, data)
        if body is None:
            if self.graph_hash() != before:
                self.fault("records", "a load that failed left something", arguments, data, "")
            return
        counted = body["records"]
        if counted["accepted"] + counted["rejected"] != counted["read"]:
            self.fault("records", "accepted and rejected are not what was read", arguments, data, json.dumps(counted))
        for name in ("records", "edges", "evidence", "rejected_reasons", "withheld_reasons"):
            if predicted is not None and predicted[name] != body[name]:
                self.fault("records", f"a dry run told other {name}", arguments, data, f"{predicted[name]} {body[name]}")
        lines = [json.loads(line) for line in rejects.read_text("utf-8").splitlines()] if rejects.exists() else []
        if len(lines) != counted["rejected"]:
            self.fault("records", "the reject file has not each refused record", arguments, data, str(len(lines)))
        for line in lines:
            if line["file"] != "in.jsonl" or line["line"] < 1 or line["code"] not in _CODES or not line["message"].strip():
                self.fault("records", "a refused record without place or reason", arguments, data, json.dumps(line))
        if again:
            second = self._summary(arguments, data)
            if second is not None and any(second["writes"].values()):
                self.fault("records", "a second load wrote", arguments, data, json.dumps(second["writes"]))

    def _summary(self, arguments: list[str], data: bytes) -> Any:
        done = self.run("records", arguments, data)
        if done.exit_code not in (0, 1):
            return None
        try:
            return json.loads(done.stdout)
        except ValueError:
            self.fault("records", "no JSON", arguments, data, done.stdout)
            return None

    def verify(self, subject: str) -> None:
        """The store is sound after all of it."""
        done = self.run(subject, ["verify", "--format", "json"], "after all")
        if done.exit_code != 0:
            self.fault(subject, "verify found something", ["verify"], "after all", done.stdout)
