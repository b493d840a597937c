"""Clients of version 2 whose calls are recorded."""

import oso_cloud
from oso_cloud import api, for_agents, oso, query
from recorder import Recorder
from world import BINDINGS, KEY, POLICY, URL

recorder = Recorder(
    oso_cloud.Oso, oso.BatchTransaction, query.QueryBuilder, oso_cloud.ParityHandle, for_agents.ForAgents
)
recorder.patch(api.API)


def client(url=URL, key=KEY, **options):
    """A client of the server that all tests share."""
    return recorder.watch(oso_cloud.Oso(url=url, api_key=key, **{"data_bindings": BINDINGS, **options}))


def fresh(*facts):
    """A client of a server that holds the shared policy and these facts only."""
    oso = client()
    oso.api.clear_data()
    oso.policy(POLICY)
    with oso.batch() as tx:
        for fact in facts:
            tx.insert(fact)
    return oso


def parity_handle():
    return recorder.watch(oso_cloud.ParityHandle())
