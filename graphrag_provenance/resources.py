"""Where the shipped data files are: stored Cypher (`cypher/`) and the operator's room (`etl/`).

In an installed wheel they live inside the package as `_cypher` and `_etl`; in a checkout (and with
`pip install -e`) they are the top-level folders `cypher` and `etl`.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from graphrag_provenance.errors import ConfigurationError


def resource_root(name: str) -> Traversable:
    """The folder `cypher` or `etl`. Raises ConfigurationError if the installation lacks it."""
    package = files("graphrag_provenance")
    installed = package / f"_{name}"
    if installed.is_dir():
        return installed
    checkout = Path(str(package)).parent / name
    if checkout.is_dir():
        return checkout
    raise ConfigurationError(f"The shipped folder '{name}' is missing.", hint="Install graphrag-provenance again.")


def etl_path(*parts: str) -> Path:
    """A file or folder of the operator's room, as a path (wheels install unpacked)."""
    path = Path(str(resource_root("etl"))).joinpath(*parts)
    if not path.exists():
        raise ConfigurationError(f"The shipped file 'etl/{'/'.join(parts)}' is missing.")
    return path
