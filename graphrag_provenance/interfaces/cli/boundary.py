"""Where every command ends: one sentence and an exit code, never a traceback (spec 5).

Owns: the mapping of errors, usage errors, interrupts and closed pipes to stderr and exit codes; `--debug`, which may
stand anywhere in the command; errors as JSON when the command was asked for JSON. Leaves to others: the sentences.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from graphrag_provenance.errors import ProvenanceError, ServerError
from graphrag_provenance.interfaces.cli.visible import visible, visible_lines
from graphrag_provenance.notation import json_text

USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
_LOGS = "graphrag_provenance.interfaces.cli.logs"  # loaded by the command, if it came so far


class Interrupted(Exception):
    """Ctrl-C in a command that knows how to go on; the text says how."""


class BoundedGroup(TyperGroup):
    """A command group whose `main` always ends in SystemExit with one of the documented codes."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run a command and end the process with its exit code."""
        given = list(sys.argv[1:] if args is None else args)
        given, debug = _without_debug(given)
        end = _End(as_json=_wants_json(given), json_logs=_wants_json_logs(given), debug=debug)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        extra["standalone_mode"] = False
        code = 0
        try:
            code = _exit_code(super().main(given, prog_name or "gprov", **extra))
            if code == INTERRUPTED:
                end.say("interrupted", "Interrupted.", None)
            sys.stdout.flush()
        except BrokenPipeError:
            code = end.closed_pipe()
        except Exception as error:  # noqa: BLE001 - the one place where every error ends
            code = end.of(error)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a closed pipe passes by the handler in Typer."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _PipeClosed from None


class _PipeClosed(Exception):
    """A closed pipe, out of reach of the handler in Typer that would end the process with code 1."""


class _End:
    """How this command reports its end."""

    def __init__(self, *, as_json: bool, json_logs: bool, debug: bool) -> None:
        self._as_json = as_json
        self._json_logs = json_logs
        self._debug = debug

    def of(self, error: Exception) -> int:
        """Prints what the person or program should know, and returns the exit code."""
        if isinstance(error, _PipeClosed):
            return self.closed_pipe()
        if self._debug:
            traceback.print_exception(error, file=sys.stderr)
        if isinstance(error, ProvenanceError):
            self.say(error.code, error.message, error.hint)
            return error.exit_status
        if isinstance(error, Interrupted):
            self.say("interrupted", str(error), None)
            return INTERRUPTED
        if isinstance(error, typer.Abort):
            self.say("interrupted", "Interrupted.", None)
            return INTERRUPTED
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.ctx.get_help(), err=True)  # type: ignore[attr-defined]
            return USAGE
        if hasattr(error, "format_message"):
            self.say("usage", *_usage_sentence(error))
            return USAGE
        if isinstance(error, OSError) and error.strerror:
            where = f"{error.filename}: " if error.filename else ""
            self.say("file", f"{where}{error.strerror}.", None)
            return USAGE
        text = " ".join(str(error).split()) or "no further words"
        again = None if self._debug else "Run it again with --debug to see where."
        self.say("unexpected", f"Unexpected {type(error).__name__}: {text[:300]}.", again)
        return USAGE

    def say(self, code: str, message: str, hint: str | None) -> None:
        """One error on stderr, as a sentence or as JSON."""
        body = {"schema": 1, "error": {"code": code, "message": message, "hint": hint}}
        if self._json_logs and (logs := sys.modules.get(_LOGS)) is not None and logs.as_json():
            logs.fail(message, **body)
            return
        if self._as_json or self._json_logs:
            typer.echo(json_text(body), err=True)
            return
        text = f"{message} {hint}" if hint else message
        text = visible_lines(text) if code == ServerError.code else visible(text)  # the last words of a server have lines
        typer.echo(text if code == "interrupted" else f"Error: {text}", err=True)

    def closed_pipe(self) -> int:
        """The reader of our output went away (`| head`): silence, also at the interpreter's last flush."""
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _usage_sentence(error: Any) -> tuple[str, str | None]:
    message = " ".join(error.format_message().split())
    message += "" if message.endswith((".", "?")) else "."
    context = getattr(error, "ctx", None)
    return message, f"Try: {context.command_path} --help." if context is not None else None


def _exit_code(value: Any) -> int:
    """In non-standalone mode an Exit comes back as its code; a command's own value is None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _without_debug(args: list[str]) -> tuple[list[str], bool]:
    """`--debug` may stand anywhere before `--`."""
    end = args.index("--") if "--" in args else len(args)
    kept = [arg for arg in args[:end] if arg != "--debug"]
    return kept + args[end:], len(kept) != end


def _wants_json_logs(args: list[str]) -> bool:
    return "--log-format=json" in args or ("--log-format", "json") in pairwise(args)


def _wants_json(args: list[str]) -> bool:
    for number, arg in enumerate(args):
        if arg in ("--format=json", "--format=jsonl"):
            return True
        if arg == "--format" and args[number + 1 : number + 2] in (["json"], ["jsonl"]):
            return True
    return False
