"""Asks the operating system and the wire whose process and whose port it is.

Owns: the rule that a recorded pid or port is believed only after its process proves to be ours: same start time, same
marks in its command line, and the listening socket in its hands (where the system tells).
Leaves to others: what to do about it (`local`).
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

LOOPBACK = "127.0.0.1"
_PROC = Path("/proc")
_HANDSHAKE = bytes.fromhex("6060B017" "00000006" "00080805" "00000404" "00000000")


def answers_bolt(port: int, timeout: float = 5.0) -> bool:
    """Whether a server on that loopback port agrees on a Bolt version. Where nobody listens that is known at once; one that listens
    may be busy, and is not down for that."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=timeout) as wire:
            wire.sendall(_HANDSHAKE)
            answer = b""
            while len(answer) < 4:
                part = wire.recv(4 - len(answer))
                if not part:
                    return False
                answer += part
    except OSError:
        return False
    return answer[:1] == b"\0" and answer[3] in (4, 5, 6)


def free_port(preferred: int | None = None) -> int:
    """A loopback port that nobody listens on: the preferred one if it is free."""
    if preferred is not None and _is_free(preferred):
        return preferred
    with socket.socket() as wire:
        wire.bind((LOOPBACK, 0))
        port = wire.getsockname()[1]
        assert isinstance(port, int)
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            wire.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def start_mark(pid: int) -> str | None:
    """When that process started, as the system writes it; None if there is no such process.

    A killed process counts until its last thread is gone: until then it holds its port and its files.
    """
    if _PROC.is_dir():
        try:
            fields = (_PROC / str(pid) / "stat").read_text("latin-1").rpartition(")")[2].split()
        except OSError:
            return None
        threads = int(fields[17])
        return None if fields[0] in "ZX" and threads <= 1 else fields[19]
    return _ps(pid, "lstart")


def command_line(pid: int) -> tuple[str, ...]:
    """The process's arguments (one string of them all where the system has no list); empty if there is none."""
    if _PROC.is_dir():
        try:
            raw = (_PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            return ()
        return tuple(os.fsdecode(part) for part in raw.split(b"\0") if part)
    line = _ps(pid, "command")
    return (line,) if line else ()


def is_ours(pid: int, mark: str, arguments: Sequence[str]) -> bool:
    """Whether the process lives, started when we noted, and was given those arguments."""
    if start_mark(pid) != mark:
        return False
    line = command_line(pid)
    return all(any(argument in part for part in line) for argument in arguments)


def is_dying(pid: int, mark: str) -> bool:
    """Whether that process was killed and is not quite gone (it has no command line any more)."""
    return start_mark(pid) == mark and not command_line(pid)


def listens(pid: int, port: int) -> bool:
    """Whether that process holds the listening socket of that port; True where the system does not tell."""
    try:
        held = set()
        for entry in (_PROC / str(pid) / "fd").iterdir():
            try:
                held.add(os.readlink(entry))
            except FileNotFoundError:
                continue  # closed since the folder was read
        rows = [
            row.split()
            for table in ("tcp", "tcp6")
            for row in (_PROC / str(pid) / "net" / table).read_text().splitlines()[1:]
        ]
    except OSError:
        return not _PROC.is_dir()
    suffix = f":{port:04X}"
    return any(row[1].endswith(suffix) and row[3] == "0A" and f"socket:[{row[9]}]" in held for row in rows)


def _ps(pid: int, column: str) -> str | None:
    done = subprocess.run(
        ["ps", "-ww", "-p", str(pid), "-o", f"stat=,{column}="],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"LC_ALL": "C", "TZ": "UTC"},
    )
    state, _, value = done.stdout.strip().partition(" ")
    return None if done.returncode or state.startswith("Z") else value.strip() or None
