"""Clients of version 0.9 whose calls are recorded. It sends its key as `Basic KEY`."""

import oso_cloud
from oso_cloud import api
from recorder import Recorder
from world import KEY, POLICY, URL

recorder = Recorder(oso_cloud.Oso)
recorder.patch(api.API)


def client(url=URL, key=KEY):
    """A client of the server that all tests share."""
    return recorder.watch(oso_cloud.Oso(url=url, api_key=key))


def fresh(*facts):
    """A client of a server that holds the shared policy and these facts only."""
    oso = client()
    oso.api.clear_data()
    oso.policy(POLICY)
    oso.bulk_tell(facts)
    return oso


def value(type, id):
    return {"type": type, "id": id}


def in_order(facts):
    """Facts as `get` gives them out, in an order of their own: a plain text is a value as well."""
    full = lambda arg: value("String", arg) if isinstance(arg, str) else arg
    facts = [[name, *map(full, args)] for name, *args in facts]
    return sorted(facts, key=lambda fact: [fact[0], *((arg["type"], arg["id"]) for arg in fact[1:])])
