"""Clients of version 1.5 whose calls are recorded. A fact is a dict, and so is a value."""

import oso_cloud
from oso_cloud import api
from recorder import Recorder
from world import BINDINGS, KEY, POLICY, URL

recorder = Recorder(oso_cloud.Oso)
recorder.patch(api.API)


def client(url=URL, key=KEY, **options):
    """A client of the server that all tests share."""
    return recorder.watch(oso_cloud.Oso(url=url, api_key=key, **{"data_bindings": BINDINGS, **options}))


def fresh(*facts):
    """A client of a server that holds the shared policy and these facts only."""
    oso = client()
    oso.api.clear_data()
    oso.policy(POLICY)
    oso.bulk_tell(facts)
    return oso


def fact(name, *args):
    return {"name": name, "args": list(args)}


def value(type, id):
    return {"type": type, "id": id}


def in_order(facts):
    """Facts as the client gives them out, in an order of their own: a plain text is a value as well."""
    full = lambda arg: value("String", arg) if isinstance(arg, str) else arg
    facts = [fact(each["name"], *map(full, each["args"])) for each in facts]
    return sorted(facts, key=lambda each: [each["name"], *((arg["type"], arg["id"]) for arg in each["args"])])
