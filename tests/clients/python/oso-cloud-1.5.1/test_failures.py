"""How the client handles each status, and the address to fall back to. It raises a plain `Exception` with the
status and the body as its text, and tries nothing again."""

import pytest
import requests
from client import client, fact, fresh, value
from world import BUSY_URL, READ_ONLY_KEY, SLOW_URL, UNKNOWN_KEY, URL, Answers, closed_url

ADA, SITE = value("User", "ada"), value("Repository", "site")
PUBLIC = fact("is_public", SITE)


def fails(status, *parts):
    return pytest.raises(Exception, match=rf'^Oso Server error: {status}\n\{{"message":".*{".*".join(parts)}')


def test_400_the_message_says_what_is_wrong():
    with fails(400, r"is_friendly\(User\) is not used in policy"):
        fresh().tell(fact("is_friendly", ADA))


def test_401_an_unknown_key_is_refused():
    with fails(401, "the API key is unknown or was revoked"):
        client(key=UNKNOWN_KEY).get(fact("has_role"))


def test_403_a_key_that_may_only_read_asks_and_changes_nothing():
    fresh(PUBLIC)
    reader = client(key=READ_ONLY_KEY)
    assert reader.authorize(ADA, "read", SITE) is True
    with fails(403, "this API key is read-only"):
        reader.delete(PUBLIC)


def test_404_there_is_no_metadata_before_the_first_policy():
    oso = fresh()
    oso.api.clear_data()
    with fails(404, "policy"):
        oso.get_policy_metadata()


def test_413_over_a_limit_which_the_message_names():
    oso = fresh()
    context = [fact("has_role", value("User", f"u{n}"), "reader", SITE) for n in range(101)]
    with fails(413, "100"):
        oso.authorize(ADA, "read", SITE, context)
    with fails(413, "the body is larger than the limit"):
        oso.bulk_tell([fact("has_role", value("User", f"{'x' * 300}{n}"), "reader", SITE) for n in range(30_000)])


def test_503_the_service_is_not_available():
    with fails(503, "the service is not available at the moment"):
        client(url=BUSY_URL).tell(PUBLIC)


def test_429_over_a_rate():
    with fails(429, "this key is over its rate limit of 1 requests per second"):
        for _ in range(50):
            client(url=SLOW_URL).get(fact("has_role"))


def test_409_is_an_error_at_once_which_a_server_gives_to_pages_only():
    with Answers((409, {"Retry-After": "1"}, {"message": "later"})) as server:
        with pytest.raises(Exception, match=r'409\n\{"message": "later"}$'):
            client(url=server.url).list(ADA, "read", "Repository")
    assert server.n_requests == 1


def test_questions_go_to_the_address_to_fall_back_to_when_nobody_listens():
    fresh(PUBLIC)
    oso = client(url=closed_url(), fallback_url=URL)
    assert oso.authorize(ADA, "read", SITE) is True
    assert oso.authorize_resources(ADA, "read", [SITE]) == [SITE]
    assert oso.list(ADA, "read", "Repository") == ["site"]
    assert oso.actions(ADA, SITE) == ["read"]
    assert oso.query(fact("is_public", None)) == [PUBLIC]
    with pytest.raises(requests.exceptions.ConnectionError):
        oso.tell(PUBLIC)
