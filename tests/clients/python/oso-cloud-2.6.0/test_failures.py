"""How the client handles each status, and the address to fall back to."""

import logging
import uuid

import pytest
import requests
from client import client, fresh
from oso_cloud import OsoException, Value, typed_var
from world import BUSY_URL, READ_ONLY_KEY, SLOW_URL, UNKNOWN_KEY, URL, Answers, closed_url

ADA, SITE = Value("User", "ada"), Value("Repository", "site")


def failure(call, *args):
    with pytest.raises(OsoException) as raised:
        call(*args)
    return raised.value


def test_400_the_message_says_what_is_wrong():
    error = failure(fresh().insert, ("is_friendly", ADA))
    assert error.status_code == 400
    assert "is_friendly(User) is not used in policy" in str(error)


def test_401_an_unknown_key_is_refused():
    error = failure(client(key=UNKNOWN_KEY).get, ("has_role",))
    assert error.status_code == 401
    assert "the API key is unknown or was revoked" in str(error)


def test_403_a_key_that_may_only_read_asks_and_changes_nothing():
    fresh(("is_public", SITE))
    reader = client(key=READ_ONLY_KEY)
    assert reader.authorize(ADA, "read", SITE) is True
    assert failure(reader.delete, ("is_public", None)).status_code == 403


def test_404_there_is_no_metadata_before_the_first_policy():
    oso = fresh()
    oso.api.clear_data()
    assert failure(oso.get_policy_metadata).status_code == 404


def test_413_over_a_limit_which_the_message_names():
    context = [("has_role", Value("User", f"u{n}"), "reader", SITE) for n in range(101)]
    error = failure(fresh().authorize, ADA, "read", SITE, context)
    assert error.status_code == 413
    assert "100" in str(error)


def test_a_body_over_10_mib_is_not_even_sent():
    oso = fresh()
    with pytest.raises(ValueError, match="Request payload too large"):
        with oso.batch() as tx:
            for n in range(25_000):
                tx.insert(("has_role", Value("User", f"{'x' * 400}{n}"), "reader", SITE))


def test_503_the_error_tells_when_to_try_again():
    error = failure(client(url=BUSY_URL).authorize, ADA, "read", SITE)
    assert (error.status_code, error.retry_after) == (503, 1)
    assert "the service is not available at the moment" in str(error)


def test_429_over_a_rate_the_error_tells_when_to_try_again():
    with pytest.raises(OsoException, match="this key is over its rate limit of 1 requests per second") as raised:
        # The client tries a second time within a second, by chance late enough.
        for _ in range(50):
            client(url=SLOW_URL).get(("has_role",))
    assert (raised.value.status_code, raised.value.retry_after) == (429, 1)


def test_409_a_list_waits_as_long_as_it_is_told_and_goes_on():
    wait = (409, {"Retry-After": "1"}, {"message": "the page is not ready"})
    page = (200, {}, {"results": ["site"], "next_page_token": None})
    with Answers(wait, page) as server:
        assert client(url=server.url).list(ADA, "read", "Repository") == ["site"]
    assert server.n_requests == 2


@pytest.mark.parametrize("url", [closed_url(), BUSY_URL], ids=["nobody listens", "the server cannot"])
def test_questions_go_to_the_address_to_fall_back_to(url):
    fresh(("is_public", SITE))
    oso = client(url=url, fallback_url=URL)
    action = typed_var("String")
    assert oso.authorize(ADA, "read", SITE) is True
    assert oso.list(ADA, "read", "Repository") == ["site"]
    assert oso.actions(ADA, SITE) == ["read"]
    assert oso.get(("is_public", None)) == [("is_public", SITE)]
    assert oso.build_query(("allow", ADA, action, SITE)).evaluate(action) == ["read"]
    assert "allowed" in oso.authorize_local(ADA, "read", SITE)
    assert "Repository" in oso.get_policy_metadata().resources
    with pytest.raises((OsoException, requests.exceptions.ConnectionError)):
        oso.insert(("is_public", SITE))


def test_events_of_agents_are_not_taken_and_the_application_goes_on(caplog):
    agent = fresh().for_agents("agent", uuid.uuid4(), [ADA], shift="night")
    with caplog.at_level(logging.ERROR, logger="oso_cloud.for_agents"):
        agent.message_from_user("what is the weather?")
        agent.tool_call_request("weather", {"of": "SF"})
        agent.tool_call_response("weather", {"degrees": 21})
        agent.tool_call_error("weather", reason="it rains")
        agent.message_to_user("fine")
    told = [record.message for record in caplog.records if record.name == "oso_cloud.for_agents"]
    assert len(told) == 5
    assert all(message.startswith("Failed to send event: 404") for message in told)
