"""The version of this package, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("graphrag-provenance")
except PackageNotFoundError:
    __version__ = "0+unknown"
