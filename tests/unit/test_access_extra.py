"""Without its extra, OpenFGA says what to install; the other sources need nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from graphrag_provenance.errors import MissingExtraError

MODULE = "graphrag_provenance.access.openfga_source"


def test_a_missing_openfga_client_is_one_sentence_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "openfga_sdk"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "openfga_sdk", None)
    with pytest.raises(MissingExtraError, match=r"needs the package 'openfga_sdk'.*pip install 'graphrag-provenance\[openfga\]'"):
        importlib.import_module(MODULE)


def test_the_command_line_does_not_load_the_openfga_client() -> None:
    loaded = "import sys, graphrag_provenance.interfaces.cli.context as c; sys.exit(any(m.startswith('openfga_sdk') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0
