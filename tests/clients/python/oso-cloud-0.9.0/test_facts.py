"""Facts go in, come back and go away."""

import pytest
from client import fresh, in_order, value
from oso_cloud import api
from world import ACME

ADA, BOB = value("User", "ada"), value("User", "bob")
SITE, TOOLS = value("Repository", "site"), value("Repository", "tools")
ACME = value("Organization", ACME)

FACTS = [
    ["has_role", ADA, "reader", SITE],
    ["has_role", ADA, "maintainer", TOOLS],
    ["has_role", BOB, "member", ACME],
    ["has_role", BOB, "auditor"],
]


def stored(oso, *pattern):
    return in_order(oso.get(*pattern))


def test_a_fact_that_is_told_comes_back_in_the_answer_and_is_read_back():
    oso = fresh()
    told = api.Fact("has_role", [ADA, value("String", "reader"), SITE])
    assert oso.tell(*FACTS[0]) == told
    assert oso.tell(*FACTS[0]) == told
    assert stored(oso, *FACTS[0]) == in_order(FACTS[:1])


def test_a_pattern_has_values_wildcards_and_wildcards_of_one_type():
    oso = fresh(*FACTS)
    for any in [None, {}, {"type": None, "id": None}]:
        assert stored(oso, "has_role", any, "reader", any) == in_order(FACTS[:1])
    assert stored(oso, "has_role", BOB, None, {"type": "Organization"}) == in_order([FACTS[2]])
    assert stored(oso, "has_role", BOB) == in_order(FACTS[2:])
    assert stored(oso, "has_role") == stored(oso) == in_order(FACTS)
    assert stored(oso, "is_public") == []


def test_a_fact_is_deleted_by_its_values_or_by_wildcards():
    oso = fresh(*FACTS)
    assert oso.delete(*FACTS[0]) == oso.delete(*FACTS[0]) == api.ApiResult("The facts were updated.")
    assert stored(oso) == in_order(FACTS[1:])
    oso.delete("has_role", None, None, {"type": "Repository"})
    assert stored(oso) == in_order(FACTS[2:])


def test_many_facts_are_told_and_deleted_at_once():
    oso = fresh()
    oso.bulk_tell(FACTS)
    assert stored(oso) == in_order(FACTS)
    oso.bulk_delete([FACTS[0], ["has_role", BOB, None, None], ["has_role", value("User", "eve"), "auditor"]])
    assert stored(oso) == in_order([FACTS[1], FACTS[3]])


def test_statistics_have_the_form_of_newer_clients_which_this_one_cannot_hold():
    with pytest.raises(TypeError, match="unexpected keyword argument 'policy'"):
        fresh().api.get_stats()
