"""Questions about what an actor may do, and over any predicate."""

import pytest
from client import fresh, value
from oso_cloud import api
from world import ACME, MANY, POLICY, parts

ADA, BOB, EVE = (value("User", id) for id in ("ada", "bob", "eve"))
SITE, TOOLS, VAULT = (value("Repository", id) for id in ("site", "tools", "vault"))
ACME = value("Organization", ACME)

FACTS = [
    ["has_relation", SITE, "organization", ACME],
    ["has_role", ADA, "member", ACME],
    ["has_role", BOB, "maintainer", TOOLS],
    ["is_operator", EVE],
]
CONTEXT = [["has_role", EVE, "member", ACME], ["is_public", TOOLS]]


def test_a_check_follows_roles_hierarchies_and_relations():
    oso = fresh(*FACTS)
    assert oso.authorize(ADA, "read", SITE) is True
    assert oso.authorize(ADA, "write", SITE) is False
    assert oso.authorize(EVE, "read", SITE, CONTEXT) is True
    assert oso.authorize(EVE, "read", SITE) is False


def test_of_some_resources_those_are_kept_that_the_actor_may_act_on_in_their_order_and_as_often():
    oso = fresh(*FACTS)
    asked = [TOOLS, SITE, VAULT, SITE]
    assert oso.authorize_resources(ADA, "read", asked) == [SITE, SITE]
    assert oso.authorize_resources(EVE, "read", asked, CONTEXT) == [TOOLS, SITE, SITE]
    assert oso.authorize_resources(EVE, "write", asked) == []
    assert oso.authorize_resources(EVE, "write", []) == []


def test_a_list_of_more_than_25000_ids_comes_whole():
    oso = fresh()
    for part in parts(MANY):
        oso.bulk_tell([["has_role", ADA, "reader", value("Repository", id)] for id in part])
    assert oso.list(ADA, "read", "Repository") == MANY


def test_a_list_takes_context_and_has_a_star_for_all_ids():
    oso = fresh(*FACTS)
    assert oso.list(ADA, "read", "Repository") == ["site"]
    assert oso.list(EVE, "read", "Repository", CONTEXT) == ["site", "tools"]
    assert oso.list(EVE, "restart", "Repository") == ["*"]


def test_actions_are_those_that_a_check_allows():
    oso = fresh(*FACTS)
    assert oso.actions(BOB, TOOLS) == ["read", "write"]
    assert oso.actions(EVE, SITE, CONTEXT) == ["read", "restart"]


def test_a_query_answers_with_stored_and_derived_facts_and_with_wildcards():
    oso = fresh(*FACTS)
    assert oso.query("has_role", BOB, None, {"type": "Repository"}) == [
        ["has_role", BOB, "maintainer", TOOLS],
        ["has_role", BOB, "reader", TOOLS],
    ]
    assert oso.query("allow", ADA, "write", None) == []
    assert oso.query("trusts", EVE, None) == [["trusts", EVE, None]]
    assert oso.query("allow", EVE, "restart", None) == [["allow", EVE, "restart", {"id": None, "type": "Repository"}]]


def test_a_policy_is_read_back_and_a_refused_one_changes_nothing():
    oso = fresh(*FACTS)
    assert oso.policy(POLICY) == api.ApiResult("The policy was not updated because it is unchanged.")
    with pytest.raises(Exception, match="raeder"):
        oso.policy('resource Repository { "read" if "raeder"; }')
    assert oso.api.get_policy() == api.GetPolicyResult({"filename": "policy.polar", "src": POLICY})
