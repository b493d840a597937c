"""The client's classes say which methods they have."""

from client import recorder


def test_no_public_method_of_the_client_is_left_out():
    assert recorder.missing() == set()
