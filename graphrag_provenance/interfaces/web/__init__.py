"""The auditor's page, served by `gprov serve` (spec 5, auditor's web page). Extra `serve`.

Owns: the one sentence that says what to install. Leaves to others: who is signed in (`sessions`), how a request of a browser becomes one
of a reader (`gateway`), what is shown (`pages`).
"""

from graphrag_provenance.errors import MissingExtraError

try:
    import jinja2 as _jinja2  # noqa: F401
except ImportError:
    raise MissingExtraError("The auditor's page needs the package 'jinja2', which is not installed.",
                            hint="Run: pip install 'graphrag-provenance[serve]'.") from None
