"""Questions over any predicate, built step by step."""

import pytest
from client import fresh
from oso_cloud import OsoException, Value, typed_var
from world import ACME, GLOBEX

ADA, BOB = Value("User", "ada"), Value("User", "bob")
SITE, TOOLS, VAULT = (Value("Repository", id) for id in ("site", "tools", "vault"))

FACTS = [
    ("has_relation", SITE, "organization", Value("Organization", ACME)),
    ("has_relation", VAULT, "organization", Value("Organization", GLOBEX)),
    ("has_role", ADA, "member", Value("Organization", ACME)),
    ("has_role", ADA, "maintainer", TOOLS),
    ("has_stars", SITE, 250),
    ("has_stars", TOOLS, 7),
    ("is_archived", TOOLS, True),
]


def test_without_variables_the_answer_is_a_boolean():
    oso = fresh(*FACTS)
    assert oso.build_query(("allow", ADA, "read", SITE)).evaluate() is True
    assert oso.build_query(("allow", ADA, "write", SITE)).evaluate() is False
    assert oso.build_query(("has_stars", SITE, 250)).evaluate() is True
    assert oso.build_query(("is_archived", TOOLS, False)).evaluate() is False


def test_a_variable_answers_with_its_values():
    oso = fresh(*FACTS)
    action, repository, stars = typed_var("String"), typed_var("Repository"), typed_var("Integer")
    assert oso.build_query(("allow", ADA, action, TOOLS)).evaluate(action) == ["read", "write"]
    assert sorted(oso.build_query(("allow", ADA, "read", repository)).evaluate(repository)) == ["site", "tools"]
    assert oso.build_query(("has_stars", SITE, stars)).evaluate(stars) == ["250"]


def test_a_tuple_of_variables_answers_with_tuples():
    oso = fresh(*FACTS)
    action, repository = typed_var("String"), typed_var("Repository")
    pairs = oso.build_query(("allow", ADA, action, repository)).evaluate((action, repository))
    assert sorted(pairs) == [("read", "site"), ("read", "tools"), ("write", "tools")]


def test_a_dict_of_variables_answers_with_a_dict():
    oso = fresh(*FACTS)
    user, action, repository = typed_var("User"), typed_var("String"), typed_var("Repository")
    query = oso.build_query(("allow", user, action, repository))
    assert query.evaluate({repository: action}) == {"site": ["read"], "tools": ["read", "write"]}
    nested = query.evaluate({user: {repository: (action,)}})
    assert nested == {"ada": {"site": [("read",)], "tools": [("read",), ("write",)]}}


def test_further_conditions_narrow_a_query_and_leave_the_one_that_they_extend_as_it_was():
    oso = fresh(*FACTS)
    repository, organization = typed_var("Repository"), typed_var("Organization")
    readable = oso.build_query(("allow", ADA, "read", repository))
    inside = readable.and_(("has_relation", repository, "organization", organization))
    assert inside.evaluate((repository, organization)) == [("site", ACME)]
    assert inside.clone().and_(("dormant", repository)).evaluate(repository) == []
    assert sorted(readable.evaluate(repository)) == ["site", "tools"]
    # What `build_query` does.
    assert readable.init(oso, ("popular", repository)).evaluate(repository) == ["site"]


def test_a_variable_may_be_held_to_some_values():
    oso = fresh(*FACTS)
    action, repository = typed_var("String"), typed_var("Repository")
    query = oso.build_query(("allow", ADA, action, repository))
    assert query.in_(repository, ["tools", "vault"]).evaluate((repository, action)) == [
        ("tools", "read"),
        ("tools", "write"),
    ]
    assert query.in_(repository, []).evaluate(repository) == []
    with pytest.raises(OsoException, match="variables that are used in the query"):
        query.in_(typed_var("Repository"), ["site"])


def test_context_facts_count_for_one_query():
    oso = fresh(*FACTS)
    repository = typed_var("Repository")
    query = oso.build_query(("allow", BOB, "read", repository))
    context = [("has_role", BOB, "member", Value("Organization", GLOBEX)), ("is_public", SITE)]
    assert sorted(query.with_context_facts(context).evaluate(repository)) == ["site", "vault"]
    assert query.evaluate(repository) == []


def test_what_holds_for_every_value_is_a_star():
    oso = fresh(*FACTS)
    action, organization = typed_var("String"), typed_var("Organization")
    query = oso.build_query(("allow", BOB, action, organization))
    assert query.evaluate((action, organization)) == [("visit", "*")]
    assert query.evaluate({organization: action}) == {"*": ["visit"]}


def test_a_query_that_cannot_be_is_refused_with_its_reason():
    oso = fresh(*FACTS)
    with pytest.raises(OsoException, match="no predicate `stranger` with 1 argument"):
        oso.build_query(("stranger", typed_var("Repository"))).evaluate()
