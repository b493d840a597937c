"""How the client handles each status. It raises a plain `Exception` with the status and the body as its text, tries
nothing again, and has no address to fall back to."""

import pytest
from client import client, fresh, value
from oso_cloud import api
from world import BUSY_URL, READ_ONLY_KEY, SLOW_URL, UNKNOWN_KEY, Answers

ADA, SITE = value("User", "ada"), value("Repository", "site")


def fails(status, part):
    return pytest.raises(Exception, match=rf'^Got unexpected error from Oso Service: {status}\n\{{"message":".*{part}')


def test_400_the_message_says_what_is_wrong():
    with fails(400, r"is_friendly\(User\) is not used in policy"):
        fresh().tell("is_friendly", ADA)


def test_401_an_unknown_key_is_refused():
    with fails(401, "the API key is unknown or was revoked"):
        client(key=UNKNOWN_KEY).get("has_role")


def test_403_a_key_that_may_only_read_asks_and_changes_nothing():
    fresh(["is_public", SITE])
    reader = client(key=READ_ONLY_KEY)
    assert reader.authorize(ADA, "read", SITE) is True
    with fails(403, "this API key is read-only"):
        reader.delete("is_public", None)


def test_413_over_a_limit_which_the_message_names():
    context = [["has_role", value("User", f"u{n}"), "reader", SITE] for n in range(101)]
    with fails(413, "100"):
        fresh().authorize(ADA, "read", SITE, context)


def test_503_the_service_is_not_available():
    with fails(503, "the service is not available at the moment"):
        client(url=BUSY_URL).tell("is_public", SITE)


def test_429_over_a_rate():
    with fails(429, "this key is over its rate limit of 1 requests per second"):
        for _ in range(50):
            client(url=SLOW_URL).get("has_role")


def test_409_is_an_error_at_once_which_a_server_gives_to_pages_only():
    with Answers((409, {"Retry-After": "1"}, {"message": "later"})) as server:
        with pytest.raises(Exception, match=r'409\n\{"message": "later"}$'):
            client(url=server.url).list(ADA, "read", "Repository")
    assert server.n_requests == 1


# What the interface of that time had besides facts; none of it can be reached through `Oso`.
ROLE = api.Role("User", "ada", "reader", "Repository", "site")
RELATION = api.Relation("Repository", "site", "organization", "Organization", "acme")
GONE = {
    "hello": [],
    "get_inspect": ["User", "ada"],
    "get_roles": ["User", "ada", "reader", "Repository", "site"],
    "post_roles": [ROLE],
    "delete_roles": [ROLE],
    "get_relations": ["Repository", "site", "organization"],
    "post_relations": [RELATION],
    "delete_relations": [RELATION],
    "list_backups": [],
    "create_backup": [],
    "delete_backup": ["backup"],
    "restore_from_backup": ["backup"],
}


@pytest.mark.parametrize("method", GONE)
def test_404_what_the_interface_had_once(method):
    with fails(404, "no such path"):
        getattr(client().api, method)(*GONE[method])
