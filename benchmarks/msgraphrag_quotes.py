"""The quotes of Microsoft GraphRAG's sample output, graded by this package against the text units they cite.

    python -m benchmarks.msgraphrag_quotes FOLDER     (needs duckdb; FOLDER holds covariates.parquet and text_units.parquet)

A quote is the `source_text` of a claim, its passage the text unit of the claim. Published: 41 claims, 14 exact in the cited unit,
one more after folding white space, 26 that are no contiguous span of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from graphrag_provenance.rules.quotes import Grade, find_quote_near

PUBLISHED = {Grade.EXACT: 14, Grade.NORMALISED: 1, Grade.ABSENT: 26}


def grades(folder: Path) -> Counter[Grade]:
    """How many claims have which grade."""
    import duckdb  # noqa: PLC0415 - not a dependency of the package

    with duckdb.connect() as engine:
        units = dict(engine.execute("SELECT id, text FROM read_parquet(?)", [str(folder / "text_units.parquet")]).fetchall())
        claims = engine.execute("SELECT source_text, text_unit_id FROM read_parquet(?)", [str(folder / "covariates.parquet")]).fetchall()
    return Counter(
        find_quote_near(quote, units.get(unit), [pair for pair in units.items() if pair[0] != unit]).grade for quote, unit in claims)


def main() -> int:
    """Print the grades; 0 if they are the published ones."""
    found = grades(Path(sys.argv[1]))
    for grade in Grade:
        print(f"{grade.value:20} {found[grade]:3} (published {PUBLISHED.get(grade, 0)})")
    return int(found != PUBLISHED)


if __name__ == "__main__":
    sys.exit(main())
