"""Pipelines without a store: what a folder may hold, what the engine can reach, and what a result becomes (spec 5, "Pipelines")."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_provenance.errors import ConfigurationError, InputError, NotFoundError, ProvenanceError
from graphrag_provenance.ingest.extract import Extracted, check, extract
from graphrag_provenance.ingest.pipelines import bind, find_pipeline, list_pipelines, read_pipeline
from graphrag_provenance.ingest.tables import open_engine
from graphrag_provenance.model.identifiers import NAME, RESERVED_RELATIONSHIPS, RESERVED_TYPES
from graphrag_provenance.resources import etl_path
from graphrag_provenance.rules.rejects import RejectCode

TOML = """
schema = 1
name = "made"
version = "7"
[inputs.rows]
format = "csv"
file = "rows.csv"
columns = ["a", "b"]
[options.policy]
help = "The policy."
"""
EDGES = """SELECT 'r' AS relation, {type: 'T', id: a} AS source, {type: 'T', id: b} AS target,
    [{doc: 'd@1', chunk: '1', policy: $policy}] AS evidence FROM rows"""
ENTITIES = "SELECT 'T' AS type, a AS id, b AS name FROM rows"

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a pipeline's folder; files by name, the default ones unless given."""
    def made(toml: str = TOML, **files: str | None) -> Path:
        folder = tmp_path / "made"
        folder.mkdir(exist_ok=True)
        texts = {"pipeline.toml": toml, "edges.sql": EDGES, "rows.csv": "a,b\n1,2\n", **{k.replace("__", "."): v for k, v in files.items()}}
        for name, text in texts.items():
            (folder / name).unlink(missing_ok=True)
            if text is not None:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        return folder

    return made


def ran(folder: Path, tmp_path: Path, **more: Any) -> Extracted:
    spool = tmp_path / f"spool-{len(list(tmp_path.iterdir()))}"
    spool.mkdir()
    return extract(bind(read_pipeline(folder), **more), spool, memory_mb=256, max_line_bytes=1 << 20)


def records(extracted: Extracted) -> list[Any]:
    return [json.loads(line) for source in extracted.sources for line in source.path.read_bytes().splitlines()]


@pytest.mark.parametrize(("sql", "told"), [
    ("SELECT 1; SELECT 2", "is not one SELECT"),
    ("COPY (SELECT 1) TO 'x.csv'", "is not one SELECT"),
    ("INSTALL httpfs", "is not one SELECT"),
    ("ATTACH 'x.db'", "is not one SELECT"),
    ("SET enable_external_access = true", "is not one SELECT"),
    ("CREATE TABLE x AS SELECT 1", "is not one SELECT"),
    ("-- nothing", "is not one SELECT"),
    ("SELECT * FROM read_text('{secret}')", "disabled by configuration"),
    ("SELECT * FROM read_csv('{folder}/../secret.txt')", "disabled by configuration"),
    ("SELECT * FROM '{secret}'", "does not exist"),
    ("SELECT * FROM glob('/*')", "disabled by configuration"),
    ("SELECT * FROM 'https://example.org/x.parquet'", "disabled by configuration"),
    ("SELECT * FROM make", "Table with name make does not exist"),
    ("SELECT a FROM FROM rows", "syntax error"),
    ("SELECT c AS type, a AS id, a AS name FROM rows", '"c" not found'),
    ("SELECT 'T' AS type, a AS id, a AS name, $polici AS policy FROM rows", "uses $polici"),
    ("SELECT 'T' AS type, a AS id, a AS nmae FROM rows", "a column 'nmae' that no entity has"),
    ("SELECT 'T' AS type, a AS id FROM rows", "no column 'name'"),
    ("SELECT 'entity' AS kind, 'T' AS type, a AS id, a AS name FROM rows", "a column 'kind'"),
    ("SELECT 'T' AS type, a AS id, a::BLOB AS name FROM rows", "BLOB"),
    ("SELECT 'T' AS type, a AS id, a AS name, {{x: [INTERVAL 1 DAY]}} AS attributes FROM rows", "INTERVAL"),
    ("SELECT a AS record FROM rows", "'record' is JSON"),
])
def test_a_query_that_is_wrong_or_reaches_out_is_refused_without_data(make: Make, tmp_path: Path, sql: str, told: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = make(rows__csv=None)
    (folder / "entities.sql").write_text(sql.format(secret=tmp_path / "secret.txt", folder=folder))
    with pytest.raises(ConfigurationError, match=r"entities\.sql") as raised:
        check(read_pipeline(folder))
    assert told in str(raised.value)


def test_the_engine_reads_its_inputs_and_nothing_beside_them_and_cannot_be_opened(make: Make, tmp_path: Path) -> None:
    folder = make()
    (folder / "other.csv").write_text("x\n1\n")
    with open_engine([str(folder / "rows.csv")], 64) as engine:
        assert engine.execute(f"SELECT count(*) FROM read_text('{folder}/rows.csv')").fetchone() == (1,)
        assert engine.execute("SELECT current_setting('python_enable_replacements')").fetchone() == (False,)  # variables are no tables
        for statement in (f"SELECT * FROM read_text('{folder}/other.csv')", f"COPY (SELECT 1) TO '{tmp_path}/x.csv'", "INSTALL httpfs",
                          "LOAD httpfs", "SET enable_external_access = true", f"ATTACH '{tmp_path}/x.db'",
                          f"SET allowed_paths = ['{folder}']"):
            with pytest.raises(Exception, match=r"disabled|locked"):
                engine.execute(statement)


@pytest.mark.parametrize(("old", "new", "told"), [
    ('file = "rows.csv"', 'file = "../rows.csv"', "leads out of the folder"),
    ('file = "rows.csv"', 'file = "/etc/hostname"', "leads out of the folder"),
    ('file = "rows.csv"', 'file = "a/../../rows.csv"', "leads out of the folder"),
    ('file = "rows.csv"', 'file = "https://example.org/rows.csv"', "leads out of the folder"),
    ('columns = ["a", "b"]', "", "columns of CSV"),
    ('columns = ["a", "b"]', 'columns = ["a", "A"]', "declared twice"),
    ('columns = ["a", "b"]', 'columns = ["a", ""]', "inputs.rows.columns"),
    ('format = "csv"', 'format = "parquet"', "name = type"),
    ('format = "csv"', 'format = "xml"', "inputs.rows.format"),
    ('version = "7"', "", "version"),
    ('version = "7"', "version = 7", "version"),
    ('version = "7"', 'version = "7"\npolicy = "public"', "policy"),
    ("[inputs.rows]", '[inputs."x y"]', "inputs"),
    ("schema = 1", "schema = 2", "schema"),
    ("schema = 1", "schema", "not valid TOML"),
    ('help = "The policy."', 'help = "x"\nrequired = true\ndefault = "y"', "required and has a default"),
])
def test_a_wrong_pipeline_file_is_an_error_with_its_place(make: Make, old: str, new: str, told: str) -> None:
    assert old in TOML
    with pytest.raises(ConfigurationError, match=r"pipeline\.toml") as raised:
        read_pipeline(make(TOML.replace(old, new)))
    assert told in str(raised.value)


def test_a_query_file_under_an_unknown_name_is_not_passed_over(make: Make) -> None:
    with pytest.raises(ConfigurationError, match=r"edge\.sql is no query"):
        read_pipeline(make(edge__sql=EDGES))
    with pytest.raises(ConfigurationError, match="no query"):
        read_pipeline(make(edge__sql=None, edges__sql=None))


def test_a_link_that_leads_out_of_the_folder_is_refused(make: Make, tmp_path: Path) -> None:
    (tmp_path / "outside.csv").write_text("a,b\n1,2\n")
    folder = make(rows__csv=None)
    (folder / "rows.csv").symlink_to(tmp_path / "outside.csv")
    with pytest.raises(InputError, match="leads out"):
        bind(read_pipeline(folder))
    assert bind(read_pipeline(folder), given={"rows": str(tmp_path / "outside.csv")})


def test_the_network_is_closed_unless_the_operator_opens_it(make: Make) -> None:
    pipeline = read_pipeline(make())
    with pytest.raises(InputError, match="--allow-network"):
        bind(pipeline, given={"rows": "https://example.org/rows.csv"})
    assert bind(pipeline, given={"rows": "https://example.org/rows.csv"}, allow_network=True).files["rows"] == "https://example.org/rows.csv"


@pytest.mark.parametrize("more", [
    {"given": {"row": "x"}}, {"options": {"polici": "x"}}, {"given": {"rows": "nowhere.csv"}}, {"paths": [Path("nowhere.csv")]},
])
def test_an_unknown_input_option_or_file_is_an_error(make: Make, more: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        bind(read_pipeline(make()), **more)


def test_types_are_never_guessed_in_csv_and_columns_go_by_name(make: Make, tmp_path: Path) -> None:
    rows = '\ufeffb,more,a\n1.50,x,001\ntrue,x,2026-01-01\n"a,""b""",x,1e5\n" ",x,NULL\n'
    folder = make(rows__csv=rows, entities__sql=ENTITIES, edges__sql=None)
    assert [(one["id"], one["name"]) for one in records(ran(folder, tmp_path))] == [
        ("001", "1.50"), ("2026-01-01", "true"), ("1e5", 'a,"b"'), ("NULL", " ")]


def test_types_are_the_declared_ones_in_json_lines_and_a_broken_line_is_refused_with_its_place(make: Make, tmp_path: Path) -> None:
    toml = TOML.replace('format = "csv"', 'format = "jsonl"').replace('columns = ["a", "b"]', 'columns = {a = "VARCHAR", b = "VARCHAR"}')
    lines = '{"a": "001", "b": "2026-01-01"}\n{"a": "x", "b": "y"\n\n{"a": "1", "a": "2"}\n[1]\n{"b": "1.50", "a": "NaN"}\n{"a": NaN}\n'
    found = ran(make(toml, rows__csv=lines, entities__sql=ENTITIES, edges__sql=None), tmp_path)
    assert [(one["id"], one["name"]) for one in records(found)] == [("001", "2026-01-01"), ("NaN", "1.50")]
    assert [(reject.line, reject.code) for reject in found.unreadable] == [
        (2, RejectCode.NOT_JSON), (4, RejectCode.DUPLICATE_KEY), (5, RejectCode.NOT_AN_OBJECT), (7, RejectCode.NOT_JSON)]
    assert all(reject.file.endswith("rows.csv") for reject in found.unreadable)


def test_a_row_that_is_no_row_is_refused_with_file_and_line_and_the_others_are_read(make: Make, tmp_path: Path) -> None:
    found = ran(make(rows__csv="a,b\n1,2\nshort\n3,4,5\n6,7\n\udcff\udcfe\n9,10\n", entities__sql=ENTITIES, edges__sql=None), tmp_path)
    assert [one["id"] for one in records(found)] == ["1", "6", "9"]
    assert [(reject.line, reject.code, reject.record) for reject in found.unreadable][:2] == [
        (3, RejectCode.SOURCE_ROW, b"short"), (4, RejectCode.SOURCE_ROW, b"3,4,5")]
    assert [reject.line for reject in found.unreadable] == [3, 4, 6]


def test_a_file_without_a_declared_column_is_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'b'"):
        ran(make(rows__csv="a,c\n1,2\n"), tmp_path)
    with pytest.raises(InputError, match="names a column twice"):
        ran(make(rows__csv="a,b,A\n1,2,3\n"), tmp_path)
    optional = TOML.replace('columns = ["a", "b"]', 'columns = ["a", "b"]\noptional_columns = ["b"]')
    assert records(ran(make(optional, rows__csv="a\n1\n"), tmp_path))[0]["target"] == {"type": "T", "id": None}


def test_graphml_is_rows_and_no_entity_of_it_is_expanded(make: Make, tmp_path: Path) -> None:
    toml = TOML.replace('format = "csv"', 'format = "graphml"').replace('columns = ["a", "b"]', "")
    sql = "SELECT 'T' AS type, coalesce(id, source || '>' || target) AS id, data['the name'] AS name FROM rows ORDER BY element DESC"
    text = ('<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" attr.name="the name"/><graph>'
            '<node id="001"><data key="d0">a &lt;SEP&gt; &#x141;</data></node>'
            '<edge source="001" target="2"><data key="d0"/></edge></graph></graphml>')
    folder = make(toml, rows__csv=text, entities__sql=sql, edges__sql=None)
    assert [(one["id"], one["name"]) for one in records(ran(folder, tmp_path))] == [("001", "a <SEP> \u0141"), ("001>2", "")]
    for wrong, told in ((text[:-20], "unclosed token"), ("", "no element found"), ("<x>&amp;</y>", "mismatched"),
                        (text.replace(' key="d0"', ""), "a key lacks"),
                        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><x>&a;</x>', "document type")):
        with pytest.raises(InputError, match=told):
            ran(make(toml, rows__csv=wrong, entities__sql=sql, edges__sql=None), tmp_path)


def test_a_null_is_null_and_stated_leaves_it_out(make: Make, tmp_path: Path) -> None:
    """A policy that is null is an unknown one, as in any record; only a query that says so leaves the statement out."""
    folder = make(edges__sql=EDGES)
    assert records(ran(folder, tmp_path))[0]["evidence"] == [{"doc": "d@1", "chunk": "1", "policy": None}]
    assert records(ran(folder, tmp_path, options={"policy": "hr"}))[0]["evidence"][0]["policy"] == "hr"
    folder = make(edges__sql=EDGES.replace("[{doc", "[stated({doc").replace("}] AS", "})] AS"))
    assert records(ran(folder, tmp_path))[0]["evidence"] == [{"doc": "d@1", "chunk": "1"}]


def test_values_become_json_exactly(make: Make, tmp_path: Path) -> None:
    text = 'quote " back \\ line \u2028 é <SEP> \U0001f600'
    sql = f"""SELECT 'T' AS type, '{text}' AS id, 'a' || chr(10) || 'b' AS name, {{big: 9007199254740993, exact: 0.87, half: 0.5::DOUBLE,
        yes: true, instant: TIMESTAMPTZ '2026-01-01 00:00:00+02', list: [1, 2], raw: '{{"a": [1.0]}}'::JSON}} AS attributes FROM rows"""
    (one,) = records(ran(make(entities__sql=sql, edges__sql=None), tmp_path))
    assert (one["id"], one["name"]) == (text, "a\nb")
    assert one["attributes"] == {"big": 9007199254740993, "exact": 0.87, "half": 0.5, "yes": True, "instant": "2025-12-31 22:00:00+00",
                                 "list": [1, 2], "raw": {"a": [1.0]}}


def test_a_query_that_fails_on_the_data_loads_nothing_and_names_its_file(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"entities\.sql failed: .*Could not convert string 'x'"):
        ran(make(rows__csv="a,b\n1,x\n", entities__sql="SELECT 'T' AS type, a AS id, (b::INTEGER)::VARCHAR AS name FROM rows"), tmp_path)


def test_the_same_input_gives_the_same_bytes(make: Make, tmp_path: Path) -> None:
    rows = "a,b\n" + "".join(f"{n % 977},{n}\n" for n in range(20_000))
    sql = "SELECT 'T' AS type, a AS id, string_agg(b, ' ') AS name FROM rows GROUP BY a"
    folder = make(rows__csv=rows, entities__sql=sql, edges__sql=None)
    first, second = (ran(folder, tmp_path).sources[0].path.read_bytes() for _ in range(2))
    assert first == second
    assert first.count(b"\n") == 977


def test_a_view_is_a_table_of_the_queries(make: Make, tmp_path: Path) -> None:
    folder = make(edges__sql=None, entities__sql="SELECT 'T' AS type, a AS id, a AS name FROM big")
    (folder / "views").mkdir()
    (folder / "views" / "big.sql").write_text("SELECT * FROM rows WHERE length(a) > 2 -- long ones\n")
    (folder / "rows.csv").write_text("a,b\n1,2\n100,2\n")
    assert [one["id"] for one in records(ran(folder, tmp_path))] == ["100"]
    (folder / "views" / "big.sql").write_text("SELECT * FROM rows WHERE a = $policy")
    with pytest.raises(ConfigurationError, match="a view has no options"):
        check(read_pipeline(folder))


@pytest.mark.parametrize("name", [folder.name for _, folder in list_pipelines(Path("nowhere"))])
def test_every_shipped_pipeline_is_sound(name: str) -> None:
    pipeline = find_pipeline(name, Path("nowhere"))
    assert pipeline.name == name
    assert pipeline.description
    assert set(check(pipeline)) == {f"{one}.sql" for one in pipeline.queries}
    assert "losses" in pipeline.queries
    assert {path for path in pipeline.folder.rglob("*.sql")} <= set(pipeline.files)


def test_a_pipeline_of_the_workspace_goes_before_a_shipped_one(make: Make, tmp_path: Path) -> None:
    folder = make()
    assert find_pipeline("csv", tmp_path).folder == etl_path("pipelines", "csv")
    (tmp_path / "pipelines").mkdir()
    folder.rename(tmp_path / "pipelines" / "csv")
    assert find_pipeline("csv", tmp_path).name == "made"
    for name in ("nothing", "../made", "Csv", ""):
        with pytest.raises(ProvenanceError) as raised:
            find_pipeline(name, tmp_path)
        assert isinstance(raised.value, NotFoundError)


STRANGE = ["OWNS`]->() DETACH DELETE n //", "has_chunk", "Document", "lives in", "lives  in", "λόγος", "9x"]


ENGINE = open_engine([], 64)


@settings(max_examples=40)
@given(st.lists(st.one_of(st.text(max_size=80), st.sampled_from(STRANGE))))
def test_free_text_becomes_legal_names_and_two_texts_never_become_one(texts: list[str]) -> None:
    for macro, reserved, case in (("relation_name", RESERVED_RELATIONSHIPS, str.upper), ("type_name", RESERVED_TYPES, str)):
        made = {}
        for text in {kept for text in texts if (kept := text.replace("\x00", "")).strip()}:
            (name,) = ENGINE.execute(f"SELECT {macro}($text)", {"text": text}).fetchone() or ("",)
            assert NAME.fullmatch(name)
            assert case(name) not in reserved
            assert name == text or not (NAME.fullmatch(text) and case(text) not in reserved)
            made[text] = name
        assert len(set(made.values())) == len(made)
