#!/usr/bin/env python3
"""Measures how many bytes a fact takes in a store in PostgreSQL.

    benches/import/bytes.py [--program target/debug/portcullis] [--facts 200000]

Facts of one signature, a user's role on a repository, are imported into a new PostgreSQL 15: ids that are numbers, in
the order of the index and in a random one, and UUIDs. The size of the table and of its two indexes is read from the
server, afterwards and once more after `REINDEX`. It does not depend on how the program was built.
"""

import argparse
import json
import random
import subprocess
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nodes"))
from run import POSTGRES, ROOT, one_node, post  # noqa: E402

POLICY = "actor User {} resource Repo { roles = [\"reader\"]; permissions = [\"read\"]; \"read\" if \"reader\"; }"
BATCH = 10_000
SIZES = """
    SELECT pg_table_size('portcullis_e1.f1'), pg_relation_size('portcullis_e1.f1_pkey'),
      pg_relation_size('portcullis_e1.f1r')
"""


def numbers(n_facts):
    return [(str(n), str(n % (n_facts // 10))) for n in range(n_facts)]


def uuids(n_facts):
    made = random.Random(1)
    repositories = [str(uuid.UUID(int=made.getrandbits(128), version=4)) for _ in range(n_facts // 10)]
    users = (str(uuid.UUID(int=made.getrandbits(128), version=4)) for _ in range(n_facts))
    return [(user, made.choice(repositories)) for user in users]


def shuffled(ids):
    random.Random(2).shuffle(ids)
    return ids


def read(store, query):
    ask = [POSTGRES / "psql", store, "-AtF", " ", "-c", query]
    return subprocess.run(ask, check=True, capture_output=True, text=True).stdout.split()


def measure(program, ids):
    """The bytes of a fact in the table and in each index: after the import, and without the space left in pages."""
    with one_node(program) as (port, store, _):
        status, body = post(port, "/api/policy", {"src": POLICY})
        assert status == 200, body
        for at in range(0, len(ids), BATCH):
            value = lambda ty, text: {"type": ty, "id": text}  # noqa: E731
            args = ([value("User", a), value("String", "reader"), value("Repo", b)] for a, b in ids[at : at + BATCH])
            facts = [{"predicate": "has_role", "args": list(each)} for each in args]
            status, body = post(port, "/api/batch", [{"inserts": facts}])
            assert status == 200, body
        status, body = post(port, "/api/stats", None)
        assert json.loads(body)["num_facts"] == len(ids), body
        imported = [int(size) / len(ids) for size in read(store, SIZES)]
        read(store, "REINDEX TABLE portcullis_e1.f1")
        return imported, [int(size) / len(ids) for size in read(store, SIZES)]


def main():
    arguments = argparse.ArgumentParser(description="Measures how many bytes a fact takes in PostgreSQL.")
    arguments.add_argument("--program", type=Path, default=ROOT / "target/debug/portcullis")
    arguments.add_argument("--facts", type=int, default=200_000)
    options = arguments.parse_args()
    kinds = {
        "numbers, in order": numbers(options.facts),
        "numbers, in random order": shuffled(numbers(options.facts)),
        "UUIDs": uuids(options.facts),
    }
    for kind, ids in kinds.items():
        for when, sizes in zip(("imported", "reindexed"), measure(options.program, ids), strict=True):
            parts = " + ".join(f"{size:.0f}" for size in sizes)
            print(f"{kind}, {when}: {sum(sizes):.0f} bytes a fact = {parts} (table, key, second index)")


if __name__ == "__main__":
    main()
