"""Questions about what an actor may do."""

import pytest
from client import client, fresh, parity_handle
from oso_cloud import OsoException, Value
from world import ACME, MANY, POLICY, parts

ADA, BOB, EVE = (Value("User", id) for id in ("ada", "bob", "eve"))
SITE, TOOLS = Value("Repository", "site"), Value("Repository", "tools")
ACME = Value("Organization", ACME)

FACTS = [
    ("has_relation", SITE, "organization", ACME),
    ("has_role", ADA, "member", ACME),
    ("has_role", BOB, "maintainer", TOOLS),
]
CONTEXT = [("has_role", EVE, "member", ACME), ("is_public", TOOLS)]


def test_a_check_follows_roles_hierarchies_and_relations():
    oso = fresh(*FACTS)
    assert oso.authorize(ADA, "read", SITE) is True
    assert oso.authorize(ADA, "write", SITE) is False
    assert oso.authorize(BOB, "write", TOOLS) is True


def test_what_nobody_mentioned_is_no_error():
    oso = fresh(*FACTS)
    assert oso.authorize(Value("User", "nobody"), "frob", Value("Planet", "x")) is False
    assert oso.list(Value("User", "nobody"), "frob", "Planet") == []
    assert oso.actions(Value("User", "nobody"), Value("Planet", "x")) == []


def test_context_facts_count_for_one_question():
    oso = fresh(*FACTS)
    assert oso.authorize(EVE, "read", SITE, CONTEXT) is True
    assert oso.list(EVE, "read", "Repository", CONTEXT) == ["site", "tools"]
    assert oso.actions(EVE, TOOLS, CONTEXT) == ["read"]
    assert oso.authorize(EVE, "read", SITE) is False


def test_a_list_holds_the_ids_in_order_and_a_star_for_all_of_them():
    oso = fresh(*FACTS, ("is_public", TOOLS), ("is_operator", EVE))
    assert oso.list(ADA, "read", "Repository") == ["site", "tools"]
    assert oso.list(ADA, "visit", "Organization") == ["*"]
    assert oso.list(EVE, "restart", "Repository") == ["*"]


def test_actions_are_those_that_a_check_allows():
    oso = fresh(*FACTS)
    assert oso.actions(BOB, TOOLS) == ["read", "write"]
    assert oso.actions(EVE, ACME) == ["visit"]


def test_a_list_of_more_than_25000_ids_comes_whole_and_in_pages():
    oso = fresh()
    for part in parts(MANY):
        with oso.batch() as tx:
            for id in part:
                tx.insert(("has_role", ADA, "reader", Value("Repository", id)))
    assert oso.list(ADA, "read", "Repository") == MANY

    pages, token = [], None
    while True:
        page = oso.list_paginated(ADA, "read", "Repository", 10_000, token)
        pages.append(page.results)
        token = page.next_page_token
        if token is None:
            break
    assert [len(page) for page in pages] == [10_000, 10_000, 5432]
    assert sum(pages, []) == MANY

    whole = oso.list_paginated(ADA, "read", "Repository", page_size=30_000)
    assert (len(whole.results), whole.next_page_token) == (25_432, None)


def test_a_page_belongs_to_its_question_and_has_a_least_size():
    oso = fresh()
    with pytest.raises(OsoException, match="`page_size`: 9999 is too small"):
        oso.list_paginated(ADA, "read", "Repository", 9999)
    with pytest.raises(OsoException, match="`page_token` is damaged"):
        oso.list_paginated(ADA, "read", "Repository", 10_000, "made up")


def test_an_expectation_may_come_before_or_after_the_check(monkeypatch):
    oso = fresh(*FACTS)
    recorded = []
    report = oso.api.post_expected_result
    monkeypatch.setattr(oso.api, "post_expected_result", lambda expected: recorded.append(report(expected).message))
    before, after = parity_handle(), parity_handle()
    before.expect(True)
    assert oso.authorize(ADA, "read", SITE, parity_handle=before) is True
    assert oso.authorize(ADA, "write", SITE, parity_handle=after) is False
    after.expect(True)
    assert recorded == ["recorded: agreed", "recorded: disagreed"]
    with pytest.raises(RuntimeError, match="set expected result twice"):
        after.expect(True)


def test_metadata_lists_every_block_and_the_global_one():
    metadata = fresh().get_policy_metadata()
    assert sorted(metadata.resources) == ["Organization", "Repository", "User", "global"]
    repository = metadata.resources["Repository"]
    assert (repository.roles, repository.permissions) == (["maintainer", "reader"], ["read", "write"])
    assert repository.relations == {"organization": "Organization"}
    assert metadata.resources["global"].roles == ["auditor"]


def test_a_policy_is_read_back_and_a_refused_one_changes_nothing():
    oso = fresh(("is_public", SITE))
    oso.policy(POLICY)
    assert oso.api.get_policy().policy == {"filename": "policy.polar", "src": POLICY}
    with pytest.raises(OsoException, match="raeder"):
        oso.policy('resource Repository { "read" if "raeder"; }')
    assert oso.authorize(ADA, "read", SITE) is True
    oso.api.clear_data()
    assert client().api.get_policy().policy is None
