"""SQL that the service returns, run on the application's PostgreSQL."""

import pytest
from client import client, fresh, parity_handle
from oso_cloud import OsoException, Value, typed_var
from world import ACME, GLOBEX, database

ADA, BOB, EVE, OPS = (Value("User", id) for id in ("ada", "bob", "eve", "ops"))
SITE, TOOLS, VAULT, DOCS, MISSING = (Value("Repository", id) for id in ("1", "2", "3", "4", "4711"))
ACME, GLOBEX = Value("Organization", ACME), Value("Organization", GLOBEX)

# Stored in the service; the rest are rows of schema.sql.
STORED = [
    ("has_role", BOB, "maintainer", VAULT),
    ("has_role", ADA, "maintainer", SITE),
    ("is_operator", OPS),
]


def rows(sql, *parameters):
    with database() as connection:
        # With parameters, as an application runs it: a percent sign in the text would be one.
        cursor = connection.execute(sql, parameters) if parameters else connection.execute(sql)
        return cursor.fetchall()


def allowed(sql):
    [(found,)] = rows(sql)
    return found


def through(condition):
    """The repositories that a condition over `id` lets through."""
    return [id for (id,) in rows(f"SELECT id FROM repositories WHERE id > %s AND {condition} ORDER BY id", 0)]


def test_a_check_is_one_row_with_a_boolean():
    oso = fresh(*STORED)
    assert allowed(oso.authorize_local(ADA, "read", TOOLS)) is True
    assert allowed(oso.authorize_local(ADA, "write", TOOLS)) is False
    assert allowed(oso.authorize_local(BOB, "write", VAULT)) is True
    assert allowed(oso.authorize_local(OPS, "restart", MISSING)) is True
    assert allowed(oso.authorize_local(EVE, "read", SITE, [("has_role", EVE, "reader", SITE)])) is True


def test_a_report_about_a_check_that_the_application_ran_itself_is_taken():
    oso = fresh(*STORED)
    handle = parity_handle()
    assert allowed(oso.authorize_local(ADA, "read", TOOLS, parity_handle=handle)) is True
    handle.expect(True)


def test_actions_are_rows_of_one_column():
    oso = fresh(*STORED)
    actions = lambda *question: [action for (action,) in rows(oso.actions_local(*question))]
    assert actions(ADA, SITE) == ["read", "write"]
    assert actions(EVE, GLOBEX) == ["invite", "visit"]
    assert actions(BOB, SITE) == []
    assert actions(BOB, SITE, [("has_role", BOB, "reader", SITE)]) == ["read"]


def test_a_list_is_a_condition_over_the_column_that_the_caller_names():
    oso = fresh(*STORED)
    assert through(oso.list_local(ADA, "read", "Repository", "id")) == [1, 2, 4]
    assert through(oso.list_local(ADA, "write", "Repository", "repositories.id")) == [1]
    assert through(oso.list_local(OPS, "restart", "Repository", "id")) == [1, 2, 3, 4]
    assert through(oso.list_local(ADA, "frob", "Repository", "id")) == []
    context = [("has_role", EVE, "reader", VAULT)]
    assert through(oso.list_local(EVE, "read", "Repository", "id", context)) == [3, 4]


@pytest.mark.parametrize("id", ["'; DROP TABLE repositories; --", "\\' OR 1=1 --", "%s %(x)s $1 ? :x {y}", "a\nb"])
def test_an_actors_id_is_data_whatever_it_says(id):
    actor = Value("User", id)
    oso = fresh(("has_role", actor, "reader", VAULT))
    assert through(oso.list_local(actor, "read", "Repository", "id")) == [3, 4]
    assert allowed(oso.authorize_local(actor, "read", SITE)) is False


def test_a_query_selects_its_variables_into_columns():
    oso = fresh(*STORED)
    action, repository = typed_var("String"), typed_var("Repository")
    query = oso.build_query(("allow", ADA, action, repository)).in_(repository, [SITE.id, TOOLS.id, VAULT.id])
    select = query.evaluate_local_select({"Repository id": repository, "action": action})
    assert rows(f"SELECT * FROM ({select}) AS found ORDER BY 1, 2") == [("1", "read"), ("1", "write"), ("2", "read")]
    with pytest.raises(ValueError, match="duplicated String variable"):
        query.evaluate_local_select({"one": action, "two": action})


def test_a_query_without_columns_selects_a_boolean():
    oso = fresh(*STORED)
    repository = typed_var("Repository")
    holds = oso.build_query(("allow", ADA, "read", repository)).and_(("popular", repository))
    assert rows(holds.evaluate_local_select()) == [(True,)]
    assert rows(holds.and_(("dormant", repository)).evaluate_local_select({})) == [(False,)]


def test_a_query_filters_a_column():
    oso = fresh(*STORED)
    repository = typed_var("Repository")
    query = oso.build_query(("allow", ADA, "read", repository)).and_(("has_relation", repository, "organization", ACME))
    assert through(query.evaluate_local_filter("id", repository)) == [1, 2]
    assert through(query.and_(("popular", repository)).evaluate_local_filter("repositories.id", repository)) == [1]


def test_without_a_document_the_sql_holds_what_stored_facts_decide():
    fresh(*STORED)
    assert through(client(data_bindings=None).list_local(BOB, "write", "Repository", "id")) == [3]
    with pytest.raises(OsoException, match="400"):
        client(data_bindings=__file__).list_local(BOB, "write", "Repository", "id")
