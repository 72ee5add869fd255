"""What the documents say about tests is true: each test that they name is there, and each campaign starts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
_FILE = re.compile(r"^(?:tests/)?((?:unit|integration|property|e2e|contract|architecture)/test_\w+\.py)$")
_NAME = re.compile(r"^\w+(_…|…)?$")


def named(text: str) -> list[tuple[str, str]]:
    """(file, name of a test or its beginning) that a row names: `unit/test_x.py`: `the_rule`, `the_other_…`."""
    found = []
    for line in text.splitlines():
        file = ""
        for before, word in re.findall(r"([^`]*)`([^`]+)`", line):
            if match := _FILE.match(word):
                file = match[1]
                found.append((file, ""))
            elif file and before.strip() in (":", ",", "and") and _NAME.match(word):
                found.append((file, word.rstrip("…").rstrip("_")))
            else:
                file = ""
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_test_that_a_page_names_is_there(page: Path) -> None:
    missing = []
    for file, name in named(page.read_text(encoding="utf-8")):
        path = ROOT / "tests" / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not text or not re.search(rf"^def test_(report_)?{re.escape(name)}" if name else "", text, re.MULTILINE):
            missing.append(f"{file}: {name}")
    assert missing == []


def test_rows_are_read() -> None:
    row = "| a | `integration/test_trace.py`: `one`, `two_…`; `unit/test_x.py`: the table, `not_a_test` |"
    assert named(row) == [("integration/test_trace.py", ""), ("integration/test_trace.py", "one"), ("integration/test_trace.py", "two"),
                          ("unit/test_x.py", "")]


CAMPAIGNS = sorted({name for page in PAGES for name in re.findall(r"python -m (tests\.\w+)", page.read_text(encoding="utf-8"))})


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_each_campaign_that_a_page_names_starts(name: str) -> None:
    done = subprocess.run([sys.executable, "-m", name, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
