"""Facts go in, come back and go away."""

import pytest
from client import fresh
from oso_cloud import OsoException, Value, ValueOfType
from world import ACME, GLOBEX

ADA, BOB = Value("User", "ada"), Value("User", "bob")
SITE, TOOLS = Value("Repository", "site"), Value("Repository", "tools")
ACME, GLOBEX = Value("Organization", ACME), Value("Organization", GLOBEX)

FACTS = [
    ("has_role", ADA, "reader", SITE),
    ("has_role", ADA, "maintainer", TOOLS),
    ("has_role", BOB, "reader", SITE),
    ("has_role", BOB, "member", ACME),
    ("has_role", BOB, "auditor"),
]


def are(*facts):
    """Facts as the client gives them out: a plain text is a value as well."""
    plain = lambda arg: Value("String", arg) if isinstance(arg, str) else arg
    return {(name, *map(plain, args)) for name, *args in facts}


def test_an_inserted_fact_is_read_back_and_inserting_it_again_changes_nothing():
    oso = fresh()
    oso.insert(FACTS[0])
    oso.insert(FACTS[0])
    assert oso.get(FACTS[0]) == [("has_role", ADA, Value("String", "reader"), SITE)]


def test_numbers_and_booleans_are_values_of_their_types():
    oso = fresh(("has_stars", SITE, 250), ("has_stars", TOOLS, -(2**63)), ("is_archived", TOOLS, True))
    assert oso.get(("has_stars", SITE, None)) == [("has_stars", SITE, Value("Integer", "250"))]
    assert oso.get(("has_stars", None, -(2**63))) == [("has_stars", TOOLS, Value("Integer", str(-(2**63))))]
    assert oso.get(("is_archived", None, True)) == [("is_archived", TOOLS, Value("Boolean", "true"))]
    assert oso.get(("is_archived", None, False)) == []
    with pytest.raises(OsoException, match="400"):
        oso.insert(("has_stars", SITE, 2**63))


def test_a_pattern_has_values_wildcards_and_wildcards_of_one_type():
    oso = fresh(*FACTS)
    stored = lambda *pattern: set(oso.get(pattern))
    assert stored("has_role", None, "reader", None) == are(FACTS[0], FACTS[2])
    assert stored("has_role", BOB, None, ValueOfType("Repository")) == are(FACTS[2])
    assert stored("has_role", ValueOfType("User"), ValueOfType("String"), ACME) == are(FACTS[3])
    assert stored("has_role", Value("User", "eve"), None, None) == set()


def test_a_position_that_a_pattern_does_not_mention_matches_anything():
    oso = fresh(*FACTS)
    assert set(oso.get(("has_role",))) == are(*FACTS)
    assert set(oso.get(("has_role", BOB))) == are(*FACTS[2:])
    assert set(oso.get(("_",))) == are(*FACTS)


def test_an_id_may_hold_anything():
    ids = ["a b&c=d", "ünï/コード", "'; DROP TABLE facts; --", "100%", "a+b", "\\' OR 1=1 --", "[]", "🦀"]
    oso = fresh(*(("has_role", Value("User", id), "reader", SITE) for id in ids))
    for id in ids:
        fact = ("has_role", Value("User", id), "reader", SITE)
        assert set(oso.get(("has_role", Value("User", id), None, None))) == are(fact)


def test_a_fact_is_deleted_by_its_values_or_by_wildcards():
    oso = fresh(*FACTS)
    oso.delete(FACTS[0])
    oso.delete(FACTS[0])
    assert set(oso.get(("has_role",))) == are(*FACTS[1:])
    oso.delete(("has_role", BOB, None, ValueOfType("Repository")))
    assert set(oso.get(("has_role",))) == are(FACTS[1], FACTS[3], FACTS[4])
    oso.delete(("has_role", None, None, None))
    assert set(oso.get(("has_role",))) == are(FACTS[4])


def test_a_batch_applies_its_changes_in_their_order_and_an_empty_one_is_not_sent():
    oso = fresh(*FACTS)
    with oso.batch() as tx:
        tx.insert(("has_role", ADA, "owner", GLOBEX))
        tx.delete(("has_role", ADA, None, None))
        tx.insert(("has_role", ADA, "member", GLOBEX))
        tx.delete(("has_role", BOB, None))
    with oso.batch():
        pass
    assert set(oso.get(("has_role",))) == are(FACTS[2], FACTS[3], ("has_role", ADA, "member", GLOBEX))


def test_a_batch_with_one_bad_fact_changes_nothing():
    oso = fresh(*FACTS)
    with pytest.raises(OsoException, match=r"is_friendly\(User\) is not used in policy"):
        with oso.batch() as tx:
            tx.delete(("has_role", None, None, None))
            tx.insert(("is_friendly", ADA))
    assert set(oso.get(("has_role",))) == are(*FACTS)


def test_a_client_sends_the_offset_of_its_last_write():
    oso = fresh(FACTS[0])
    assert oso.api.session.headers["OsoOffset"]
    assert len(oso.get(FACTS[0])) == 1
