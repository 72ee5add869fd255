"""What is shipped: sdist → wheel → an empty environment outside the checkout (style: the house)."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROBE = """
import json
from importlib.resources import files as web_files
from graphrag_provenance.queries import all_queries
from graphrag_provenance.resources import resource_root
from graphrag_provenance.server.fetch import read_lock
import graphrag_provenance

def files(folder, prefix=""):
    for child in folder.iterdir():
        if child.is_dir():
            yield from files(child, prefix + child.name + "/")
        else:
            yield prefix + child.name, len(child.read_bytes())

print(json.dumps({
    "file": graphrag_provenance.__file__,
    "page": {name: size for name, size in files(web_files("graphrag_provenance.interfaces.web")) if not name.endswith((".py", ".pyc"))},
    "cypher": dict(files(resource_root("cypher"))), "etl": dict(files(resource_root("etl"))), "queries": len(all_queries()),
    "jars": {v: len(read_lock(v)) for v in ("2026.09.0", "5.26.28")},
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and nothing of the checkout; its dependencies are those that the tests run on."""
    place = tmp_path_factory.mktemp("elsewhere")
    venv.create(place / "env", with_pip=False)
    python = place / "env" / "bin" / "python"
    site = Path(subprocess.run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                               capture_output=True, text=True, check=True).stdout.strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def _files(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*") if p.is_file()}


def test_the_installed_wheel_carries_every_resource_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run([str(installed), "-c", PROBE], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert not found["file"].startswith(str(ROOT))
    assert found["cypher"] == _files(ROOT / "cypher")
    assert found["etl"] == _files(ROOT / "etl")
    web = _files(ROOT / "graphrag_provenance" / "interfaces" / "web")
    assert found["page"] == {name: size for name, size in web.items() if not name.endswith((".py", ".pyc"))}
    assert "templates/trace.html" in found["page"]
    assert found["queries"] > 40
    assert all(found["jars"].values())


def test_the_installed_command_runs(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run([str(installed), "-m", "graphrag_provenance.interfaces.cli", "schema-json", "edge"],
                          capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["title"] == "EdgeRecord"


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"graphrag_provenance"}
