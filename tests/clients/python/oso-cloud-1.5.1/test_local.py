"""SQL that the service returns, run on the application's PostgreSQL."""

from client import client, fact, fresh, value
from world import GLOBEX, database

ADA, BOB, EVE, OPS = (value("User", id) for id in ("ada", "bob", "eve", "ops"))
SITE, VAULT, MISSING = (value("Repository", id) for id in ("1", "3", "4711"))

# Stored in the service; the rest are rows of schema.sql.
STORED = [fact("has_role", BOB, "maintainer", VAULT), fact("is_operator", OPS)]


def rows(sql):
    with database() as connection:
        return connection.execute(sql).fetchall()


def through(condition):
    """The repositories that a condition over `id` lets through."""
    return [id for (id,) in rows(f"SELECT id FROM repositories WHERE {condition} ORDER BY id")]


def test_a_check_is_one_row_with_a_boolean():
    oso = fresh(*STORED)
    assert rows(oso.authorize_local(ADA, "read", SITE)) == [(True,)]
    assert rows(oso.authorize_local(ADA, "write", SITE)) == [(False,)]
    assert rows(oso.authorize_local(BOB, "write", VAULT)) == [(True,)]
    assert rows(oso.authorize_local(OPS, "restart", MISSING)) == [(True,)]


def test_actions_are_rows_of_one_column():
    oso = fresh(*STORED)
    assert rows(oso.actions_local(BOB, VAULT)) == [("read",), ("write",)]
    assert rows(oso.actions_local(EVE, value("Organization", GLOBEX))) == [("invite",), ("visit",)]
    assert rows(oso.actions_local(BOB, SITE)) == []


def test_a_list_is_a_condition_over_the_column_that_the_caller_names():
    oso = fresh(*STORED)
    assert through(oso.list_local(ADA, "read", "Repository", "id")) == [1, 2, 4]
    assert through(oso.list_local(BOB, "write", "Repository", "repositories.id")) == [3]
    assert through(oso.list_local(OPS, "restart", "Repository", "id")) == [1, 2, 3, 4]
    assert through(oso.list_local(OPS, "frob", "Repository", "id")) == []


def test_without_a_document_the_sql_holds_what_stored_facts_decide():
    fresh(*STORED)
    assert through(client(data_bindings=None).list_local(BOB, "write", "Repository", "id")) == [3]
