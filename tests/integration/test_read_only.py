"""Field report 26: a read can neither run free Cypher nor write, whatever it is asked for."""

from __future__ import annotations

import dataclasses

import pytest

from graphrag_provenance.errors import ConfigurationError, StoreError
from graphrag_provenance.queries import all_queries, query
from graphrag_provenance.store.database import Database

FREE = ["MATCH (n) RETURN n", "CALL dbms.components()", "store.state; MATCH (n) DETACH DELETE n", "../schema/V001", ""]


@pytest.mark.parametrize("asked", FREE)
def test_report_26_a_read_takes_the_name_of_a_stored_query_and_nothing_else(database: Database, asked: str) -> None:
    with pytest.raises(ConfigurationError, match="There is no stored query"):
        database.read(asked)


@pytest.mark.parametrize("name", sorted(name for name, stored in all_queries().items() if stored.access != "read"))
def test_report_26_a_stored_write_is_refused_as_a_read(database: Database, name: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a read query"):
        database.read(name)


def test_report_26_the_server_itself_refuses_to_write_in_a_read_session(database: Database, tenant: str) -> None:
    """Even a write that is filed as a read: the session is a READ session."""
    smuggled = dataclasses.replace(query("store.server"), text="CREATE (n:Smuggled {tenant: $tenant}) RETURN n")
    with pytest.raises(StoreError):
        database.read(smuggled, tenant=tenant)
    left = dataclasses.replace(query("store.server"), text="MATCH (n:Smuggled {tenant: $tenant}) RETURN n")
    assert database.read(left, tenant=tenant) == []
