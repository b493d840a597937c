#!/usr/bin/env python3
"""Times `portcullis facts import` into a service over PostgreSQL.

    benches/import/run.py FACTS [--program target/release/portcullis] [--chunk 50000,10000] [--rounds 3]

FACTS are the facts of a code host, as JSON lines or CSV. `scale` generates some, and the program exports them:

    cargo bench --bench scale -- --scale 1 --only load --keep /var/tmp/host
    portcullis facts export /var/tmp/facts.jsonl --data /var/tmp/host/scale-1/data

Each import goes into a new PostgreSQL 15 with durable commits, through a service with a release build. The client, the
service and PostgreSQL share the processors of this machine. Afterwards every fact must be stored, and an import of the
same file must change nothing.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "nodes"))
from run import KEY, ROOT, one_node, post  # noqa: E402

POLICY = ROOT / "fixtures/example/policy.polar"


def stored(port):
    """How many facts the service has."""
    status, body = post(port, "/api/stats", None)
    assert status == 200, body
    return json.loads(body)["num_facts"]


def measure(program, facts, n_facts, chunk):
    """Imports the facts into a new store; returns how many of them it took a second."""
    with one_node(program) as (port, _, folder):
        status, body = post(port, "/api/policy", {"filename": POLICY.name, "src": POLICY.read_text()})
        assert status == 200, body
        key = folder / "key"
        key.write_text(KEY)
        address = ["--url", f"http://127.0.0.1:{port}", "--key-file", key, "--chunk", str(chunk)]
        command = [program, "facts", "import", facts, *address]
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        elapsed = time.monotonic() - start
        assert stored(port) == n_facts, f"{stored(port)} of {n_facts} facts are stored"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert stored(port) == n_facts, "a second import changed something"
        return n_facts / elapsed


def main():
    arguments = argparse.ArgumentParser(description="Times an import into a service over PostgreSQL.")
    arguments.add_argument("facts", type=Path)
    arguments.add_argument("--program", type=Path, default=ROOT / "target/release/portcullis")
    arguments.add_argument("--chunk", default="50000,10000")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    # A fact of a code host has no line breaks, and a table has one line more.
    with options.facts.open() as lines:
        n_facts = sum(1 for _ in lines) - (options.facts.suffix == ".csv")
    chunks = options.chunk.split(",")
    rates = {chunk: [] for chunk in chunks}
    for _ in range(options.rounds):
        for chunk in chunks:
            rates[chunk].append(measure(options.program, options.facts, n_facts, chunk))
    for chunk, found in rates.items():
        all_rates = ", ".join(f"{rate:,.0f}" for rate in found)
        print(f"chunks of {int(chunk):,}: {median(found):,.0f} facts per second ({all_rates})")


if __name__ == "__main__":
    main()
