"""What a load holds in memory: the largest size of its process while it reads the first tenth of its input, and over all of it.

Owns: how that is seen: the load runs as a command of its own, and its size is read from the system ten times a second (Linux). The
first tenth is what was read by the time the process had used a tenth of the processor time that it used in the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import takewhile
from pathlib import Path

import data
from loads import Input
from reporting import Goal, Report
from servers import PIPELINE, Bench, processor_seconds

LIMIT_MB = 500


def measure_memory(server: Bench, given: Input, _rounds: int, report: Report) -> None:
    """The size of one full load by the command line; one round, since it is no matter of time."""
    if not Path("/proc/self/status").exists():
        raise SystemExit("What a process holds is read from /proc: run this on Linux.")
    folder = given.files[0].parent
    (folder / "policies.toml").write_text(data.POLICY_FILE, encoding="utf-8")
    user, password = server.connection.username, server.connection.password.get_secret_value()
    log = folder / "load.log"
    with log.open("wb") as told:
        child = subprocess.Popen(
            [sys.executable, "-m", "graphrag_provenance.interfaces.cli", "ingest", *map(str, given.files), "--tenant", data.TENANT,
             "--policies", str(folder / "policies.toml"), "--pipeline-name", PIPELINE], cwd=folder, stdout=told, stderr=told,
            env={**os.environ, "NEO4J_URI": server.connection.uri, "NEO4J_USERNAME": user, "NEO4J_PASSWORD": password})
    seen: list[tuple[float, float]] = []  # processor seconds, megabytes
    while child.poll() is None:
        if (now := _state(child.pid)) is not None:
            seen.append(now)
        time.sleep(0.1)
    if child.returncode:
        raise SystemExit(f"The load ended with {child.returncode}: {log.read_text(encoding='utf-8')[-2_000:]}")
    tenth = seen[-1][0] / 10
    early = max(size for _, size in takewhile(lambda one: one[0] <= tenth, seen))
    whole = max(size for _, size in seen)
    report.value("memory of a load: largest in the first tenth", "MB", early)
    report.value("memory of a load: largest", "MB", whole)
    report.ratio(f"memory of a load / {LIMIT_MB} MB", whole / LIMIT_MB, Goal("≤", 1))
    server.empty()


def _state(pid: int) -> tuple[float, float] | None:
    """Processor seconds and megabytes of a process; None if it has just ended."""
    try:
        used = processor_seconds(pid)
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        size = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    except (OSError, StopIteration):
        return None
    return used, size / 1024
