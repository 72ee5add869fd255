"""What every query of a pipeline can call besides DuckDB's own functions (docs/pipelines.md).

Owns: the rule for free text that must become a name (`name/1`): a legal name stays as it is; any other text becomes its letters and
digits, joined by `_`, and eight digits of its SHA-256, so that two texts never become one name. The query keeps the text beside it,
which makes the rule reversible.
"""

from __future__ import annotations

from graphrag_provenance.model.identifiers import NAME, RESERVED_RELATIONSHIPS, RESERVED_TYPES

_SLUG = r"rtrim(substr(regexp_replace(text, '[^A-Za-z0-9]+', '_', 'g'), 1, 48), '_')"


def _naming(function: str, reserved: frozenset[str], folded: str) -> str:
    names = ", ".join(f"'{name}'" for name in sorted(reserved))
    made = f"{_SLUG} || '_' || substr(sha256(text), 1, 8)"
    legal = f"regexp_full_match(text, '{NAME.pattern}') AND {folded} NOT IN ({names})"
    return (f"CREATE MACRO {function}(text) AS CASE WHEN trim(text) = '' OR ({legal}) "
            f"THEN text WHEN regexp_matches(text, '^[A-Za-z]') THEN {made} ELSE 'n_' || ltrim({made}, '_') END")


MACROS = (
    # RFC 7396: a merge patch leaves out what is null.
    "CREATE MACRO stated(fields) AS json_merge_patch('{}', to_json(fields))",
    # What is no number stays text, and is refused where a number belongs.
    "CREATE MACRO number(text) AS CASE WHEN TRY_CAST(text AS DOUBLE) IS NULL THEN to_json(text) ELSE to_json(TRY_CAST(text AS DOUBLE)) END",
    "CREATE MACRO document_of(revision) AS regexp_extract(revision, '(?s)^(.*)@[^@]*$', 1)",
    "CREATE MACRO source_type_of(doc_id, otherwise) AS "
    "coalesce(nullif(regexp_extract(doc_id, '^([a-z][a-z0-9_-]{0,15}):[^/\\s]', 1), ''), otherwise)",
    "CREATE MACRO content_hash(text) AS 'sha256:' || sha256(text)",
    _naming("relation_name", RESERVED_RELATIONSHIPS, "upper(text)"),
    _naming("type_name", RESERVED_TYPES, "text"),
)
"""Statements that define them."""
