"""Questions about what an actor may do, and over any predicate."""

import os
import subprocess
import sys

import pytest
from client import fact, fresh, value
from world import ACME, KEY, MANY, POLICY, URL, parts

ADA, BOB, EVE = (value("User", id) for id in ("ada", "bob", "eve"))
SITE, TOOLS, VAULT = (value("Repository", id) for id in ("site", "tools", "vault"))
ACME = value("Organization", ACME)

FACTS = [
    fact("has_relation", SITE, "organization", ACME),
    fact("has_role", ADA, "member", ACME),
    fact("has_role", BOB, "maintainer", TOOLS),
    fact("is_operator", EVE),
]
CONTEXT = [fact("has_role", EVE, "member", ACME), fact("is_public", TOOLS)]


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
    assert oso.authorize_resources(EVE, "restart", asked) == asked
    assert oso.authorize_resources(EVE, "write", asked) == []
    assert oso.authorize_resources(EVE, "write", None) == []


def test_a_list_of_more_than_25000_ids_comes_whole():
    oso = fresh()
    for part in parts(MANY):
        oso.bulk_tell([fact("has_role", ADA, "reader", value("Repository", id)) for id in part])
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


def test_a_query_answers_with_stored_and_derived_facts():
    oso = fresh(*FACTS)
    text = lambda id: value("String", id)
    assert oso.query(fact("has_role", BOB, None, {"type": "Repository"})) == [
        fact("has_role", BOB, text("maintainer"), TOOLS),
        fact("has_role", BOB, text("reader"), TOOLS),
    ]
    assert oso.query(fact("allow", EVE, "read", {"type": "Repository"}), CONTEXT) == [
        fact("allow", EVE, text("read"), SITE),
        fact("allow", EVE, text("read"), TOOLS),
    ]
    assert oso.query(fact("allow", ADA, "write", None)) == []


def test_what_holds_for_every_value_comes_back_as_a_wildcard():
    oso = fresh(*FACTS)
    assert oso.query(fact("trusts", EVE, None)) == [fact("trusts", EVE, None)]
    assert oso.query(fact("allow", EVE, "restart", None)) == [
        fact("allow", EVE, value("String", "restart"), {"type": "Repository"})
    ]


def test_metadata_lists_every_block_and_a_policys_text_is_read_back():
    oso = fresh()
    metadata = oso.get_policy_metadata()
    assert sorted(metadata.resources) == ["Organization", "Repository", "User", "global"]
    assert metadata.resources["Repository"].relations == {"organization": "Organization"}
    assert oso.api.get_policy().policy == {"filename": "policy.polar", "src": POLICY}
    oso.policy(POLICY)
    with pytest.raises(Exception, match="raeder"):
        oso.policy('resource Repository { "read" if "raeder"; }')


def test_the_generator_of_typed_clients_reads_the_metadata():
    fresh()
    generated = subprocess.run(
        [sys.executable, "-m", "oso_cloud.experimental.client_gen", "--generate-helper-methods"],
        env={**os.environ, "OSO_URL": URL, "OSO_AUTH": KEY},
        check=True, capture_output=True, text=True,
    ).stdout
    compile(generated, "generated", "exec")
    assert "def list_repositorys(self, actor: User, action: RepositoryActions) -> List[str]:" in generated
