"""Facts go in, come back and go away."""

import pytest
from client import fact, fresh, in_order, value
from world import ACME, GLOBEX

ADA, BOB = value("User", "ada"), value("User", "bob")
SITE, TOOLS = value("Repository", "site"), value("Repository", "tools")
ACME, GLOBEX = value("Organization", ACME), value("Organization", GLOBEX)

FACTS = [
    fact("has_role", ADA, "reader", SITE),
    fact("has_role", ADA, "maintainer", TOOLS),
    fact("has_role", BOB, "member", ACME),
    fact("has_role", BOB, "auditor"),
]


def stored(oso, *pattern):
    return in_order(oso.get(fact(*(pattern or ["has_role"]))))


def test_a_fact_that_is_told_comes_back_in_the_answer_and_is_read_back():
    oso = fresh()
    [told] = in_order([FACTS[0]])
    assert oso.tell(FACTS[0]) == told
    assert oso.tell(FACTS[0]) == told
    assert oso.get(FACTS[0]) == [told]
    assert oso.tell(fact("has_stars", SITE, 250)) == fact("has_stars", SITE, value("Integer", "250"))
    assert oso.tell(fact("is_archived", SITE, True)) == fact("is_archived", SITE, value("Boolean", "true"))


def test_a_pattern_has_values_wildcards_and_wildcards_of_one_type():
    oso = fresh(*FACTS)
    for any in [None, {}, {"type": None, "id": None}]:
        assert stored(oso, "has_role", any, "reader", any) == in_order([FACTS[0]])
    for any_organization in [{"type": "Organization"}, {"type": "Organization", "id": None}]:
        assert stored(oso, "has_role", BOB, None, any_organization) == in_order([FACTS[2]])
    assert stored(oso, "has_role", BOB) == in_order(FACTS[2:])
    assert stored(oso, "has_role", value("User", "eve")) == []


def test_a_fact_is_deleted_by_its_values_and_one_that_is_not_there_is_no_error():
    oso = fresh(*FACTS)
    oso.delete(FACTS[0])
    oso.delete(FACTS[0])
    assert stored(oso) == in_order(FACTS[1:])


def test_many_facts_are_told_and_deleted_at_once():
    oso = fresh()
    oso.bulk_tell(FACTS)
    assert stored(oso) == in_order(FACTS)
    oso.bulk_delete([FACTS[0], FACTS[3], fact("has_role", value("User", "eve"), "auditor")])
    assert stored(oso) == in_order(FACTS[1:3])


def test_a_bulk_deletes_first_and_then_tells_all_or_nothing():
    oso = fresh(*FACTS)
    told = fact("has_role", ADA, "member", GLOBEX)
    oso.bulk(delete=[fact("has_role", ADA, None, {"type": "Repository"})], tell=[told])
    assert stored(oso) == in_order([*FACTS[2:], told])
    with pytest.raises(Exception, match="not used in policy"):
        oso.bulk([fact("has_role", ADA, None, None)], [fact("is_friendly", ADA)])
    oso.bulk()
    assert stored(oso) == in_order([*FACTS[2:], told])


def test_a_client_sends_the_offset_of_its_last_write():
    oso = fresh(FACTS[0])
    assert oso.api.session.headers["OsoOffset"]
    assert stored(oso) == in_order(FACTS[:1])


def test_statistics_have_the_form_of_newer_clients_which_this_one_cannot_hold():
    oso = fresh(*FACTS)
    with pytest.raises(TypeError, match="unexpected keyword argument 'policy'"):
        oso.api.get_stats()
