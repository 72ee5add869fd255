"""An example or two of every command, for the end of its help.

Owns: the texts; a test asks of each that its command takes it. The names are those of the shipped sample (`gprov demo`) and of a
new workspace (`gprov init`), other files made up.
"""

from __future__ import annotations

_ACME = "--tenant ACME --clearance internal"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("gprov demo",),
    "init": ("gprov init answers",),
    "db start": ("gprov db start", "gprov db start --profile load --heap 2g"),
    "db stop": ("gprov db stop",),
    "db status": ("gprov db status --format json",),
    "db logs": ("gprov db logs --lines 50 --follow",),
    "db backup": ("gprov db backup store.dump",),
    "db restore": ("gprov db restore store.dump",),
    "db import": ("gprov db import import-files", "gprov db import import-files --finish"),
    "schema apply": ("gprov schema apply",),
    "schema status": ("gprov schema status --format json",),
    "ingest": (
        "gprov ingest records.jsonl --dry-run", "gprov ingest corpus/ --pipeline-name nightly --actor ann",
        "gprov ingest corpus/ --bulk"),
    "pipeline list": ("gprov pipeline list",),
    "pipeline check": ("gprov pipeline check example", "gprov pipeline check pipelines/example"),
    "pipeline run": ("gprov pipeline run csv --input edges=edges.csv --dry-run", "gprov pipeline run pipelines/example"),
    "trace": (
        f"gprov trace System:checkout-api Policy:POL-31 {_ACME}", f"gprov trace --claims claims.toml {_ACME} --format json",
        "gprov trace System:checkout-api Policy:POL-31 --reader auditor.toml --audience auditor --as-of 3"),
    "path check": (f"gprov path check golden.toml {_ACME} --format junit",),
    "path record": (f"gprov path record golden.toml --claims claims.toml {_ACME}",),
    "gate": (f"gprov gate ledger.toml {_ACME}", f"gprov gate ledger.toml {_ACME} --shadow --record judged.jsonl"),
    "eval chains": (f"gprov eval chains questions.jsonl {_ACME}",),
    "eval gate": ("gprov eval gate incidents.jsonl --format json",),
    "edge show": (f"gprov edge show 'E:dep:checkout-api->payment-router' {_ACME}",),
    "edge history": ("gprov edge history 'E:dep:checkout-api->payment-router' --reader auditor.toml",),
    "edge list": (f"gprov edge list {_ACME} --format jsonl", "gprov edge list --withheld --reader operator.toml"),
    "doc show": (f"gprov doc show RUNBOOK@2.1 {_ACME}",),
    "doc diff": (f"gprov doc diff RUNBOOK@2.0 RUNBOOK@2.1 {_ACME}",),
    "doc delete": ("gprov doc delete RUNBOOK --tenant ACME --reason 'withdrawn by legal' --dry-run",),
    "doc purge": ("gprov doc purge RUNBOOK --tenant ACME --dry-run", "gprov doc purge --tenant ACME --keep-days 365"),
    "entity find": (f"gprov entity find 'payment router' {_ACME}",),
    "entity show": (f"gprov entity show System:payment-router {_ACME}",),
    "entity links": ("gprov entity links --linker names --linker-version 2 --reader auditor.toml",),
    "entity merge": ("gprov entity merge System:pay-router System:payment-router --tenant ACME --dry-run",),
    "answer record": (f"gprov answer record answer.json {_ACME}",),
    "answer show": (f"gprov answer show a-17 {_ACME}",),
    "answer impact": ("gprov answer impact --since 12 --reader auditor.toml",),
    "retrieval record": (f"gprov retrieval record retrieval.json {_ACME}",),
    "retrieval explain": (f"gprov retrieval explain 4bf92f3577b34da6a3ce929d0e0e4736 {_ACME}",),
    "quote verify": (f"gprov quote verify quotes.jsonl {_ACME}", f"gprov quote verify --doc RUNBOOK@2.1 {_ACME}"),
    "quote hash": ("gprov quote hash 'The checkout calls the payment router.'",),
    "run list": ("gprov run list --limit 5",),
    "run show": ("gprov run show 3 --format json",),
    "run rollback": ("gprov run rollback --to 3 --dry-run",),
    "run publish": ("gprov run publish 4",),
    "run discard": ("gprov run discard 4",),
    "audit verify": ("gprov audit verify --head head.json --reader auditor.toml",),
    "audit head": ("gprov audit head --reader auditor.toml --format json > head.json",),
    "audit export": ("gprov audit export --from 1 --to 20 --reader auditor.toml > runs.json",),
    "verify": ("gprov verify --format json",),
    "policy check": ("gprov policy check policies.toml",),
    "policy apply": ("gprov policy apply policies.toml --dry-run",),
    "policy explain": ("gprov policy explain 'E:dep:checkout-api->payment-router' --reader auditor.toml",),
    "export jsonl": ("gprov export jsonl --output store.jsonl --reader operator.toml",),
    "export prov": ("gprov export prov --edge 'E:dep:checkout-api->payment-router' --reader operator.toml --format turtle",),
    "export openlineage": ("gprov export openlineage --output events.jsonl --reader operator.toml",),
    "export import-csv": ("gprov export import-csv import-files --reader operator.toml",),
    "serve": ("gprov serve --port 8080",),
    "mcp": (f"gprov mcp {_ACME}",),
    "key new": ("gprov key new --days 90 --principal answers --role reader " + _ACME,),
    "query list": ("gprov query list",),
    "query show": ("gprov query show path.directed --plan",),
    "schema-json": ("gprov schema-json edge",),
}


def epilog(command: str) -> str:
    """The end of a command's help; lines stay as they are."""
    shown = EXAMPLES.get(command, ())
    return "\n".join(("\b", "Example" if len(shown) == 1 else "Examples", *(f"  {line}" for line in shown))) if shown else ""
