#!/usr/bin/env python3
"""Compares two nodes over one PostgreSQL with one node.

    benches/nodes/run.py [--program target/release/portcullis] [--seconds 5] [--rounds 3] [--share 0.2]

Starts PostgreSQL 15 and two nodes of a release build on this machine, stores 25,000 facts of a code host, and asks
checks of which it knows the answers: a wrong one ends the run. One and two nodes are measured in turn, with as many
clients for each node: first as fast as the processors allow, and then with nodes that may run for a share of the time
only, one after the other, as if each had a small machine of its own. So it shows what a second node gains where neither
the database nor the clients are the limit, although all of it runs on the same processors.

The last column is the processor time of each check: of the nodes, of PostgreSQL and of the clients, in microseconds.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = Path("/usr/lib/postgresql/15/bin")
KEY = "e_0123456789_12345_osotesttoken01xiIn"
ORGANIZATIONS, FOLDERS, REPOSITORIES, USERS = 50, 1_000, 20_000, 4_000
# Of each node; more than it has readers.
CLIENTS = 4
# How many nodes there are.
MOST = 2
# How long a node with a share of the time runs and pauses, together.
PERIOD = 0.01


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start_postgres(folder):
    """A server with durable commits; returns its process and the address of a database."""
    port, user = free_port(), []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data = folder / "data"
    make = [POSTGRES / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
    subprocess.run([*user, *make], cwd="/", check=True, stdout=subprocess.DEVNULL)
    settings = ["-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=256MB", "-c", "unix_socket_directories="]
    serve = [*user, POSTGRES / "postgres", "-D", data, "-p", str(port), *settings]
    server = subprocess.Popen(serve, cwd="/", stderr=subprocess.DEVNULL)
    ready = [POSTGRES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(ready).returncode != 0:
        time.sleep(0.1)
    return server, f"postgres://postgres@127.0.0.1:{port}/postgres"


def start_node(program, store):
    port = free_port()
    serve = [program, "serve", "--dev", "--store", store, "--listen", f"127.0.0.1:{port}"]
    node = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        try:
            if post(port, "/ready", None)[0] == 200:
                return node, port
        except OSError:
            pass
        time.sleep(0.1)


@contextmanager
def one_node(program):
    """A node over a new PostgreSQL: its port, the address of the store, and a folder. All is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="portcullis-bench."))
    server, store = start_postgres(folder)
    node, port = start_node(program, store)
    try:
        yield port, store, folder
    finally:
        for process in (node, server):
            process.send_signal(signal.SIGINT)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def post(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    method, body = ("GET", None) if body is None else ("POST", json.dumps(body))
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def facts():
    """A user has a role on an organization, which has folders with repositories."""

    def fact(predicate, *args):
        values = [dict(zip(("type", "id"), arg.split(":"), strict=True)) for arg in args]
        return {"predicate": predicate, "args": values}

    for n in range(USERS):
        yield fact("has_role", f"User:{n}", "String:maintainer", f"Organization:{n % ORGANIZATIONS}")
    for n in range(FOLDERS):
        yield fact("has_relation", f"Folder:{n}", "String:organization", f"Organization:{n % ORGANIZATIONS}")
    for n in range(REPOSITORIES):
        yield fact("has_relation", f"Repository:{n}", "String:folder", f"Folder:{n % FOLDERS}")


def load(port):
    policy = (ROOT / "fixtures/example/policy.polar").read_text()
    every = list(facts())
    requests = [("/api/policy", {"src": policy})]
    requests += [("/api/batch", [{"inserts": every[at : at + 5_000]}]) for at in range(0, len(every), 5_000)]
    for path, body in requests:
        status, text = post(port, path, body)
        assert status == 200, text


def question(chosen):
    """A request, and what its answer must contain: half of the users belong to the repository's organization."""
    repository, user = chosen.randrange(REPOSITORIES), chosen.randrange(USERS)
    if chosen.random() < 0.5:
        user = user - user % ORGANIZATIONS + repository % ORGANIZATIONS
    allowed = user % ORGANIZATIONS == repository % FOLDERS % ORGANIZATIONS
    names = ("actor_type", "actor_id", "action", "resource_type", "resource_id")
    asked = dict(zip(names, ("User", str(user), "write", "Repository", str(repository)), strict=True))
    body = json.dumps(asked)
    head = (
        f"POST /api/authorize HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return (head + body).encode(), b'{"allowed":true}' if allowed else b'{"allowed":false}'


def ask(port, seed, begin, seconds, results):
    """One client: the next question after each answer."""
    chosen = random.Random(seed)
    asked = [question(chosen) for _ in range(2_000)]
    begin.wait()
    took, end = [], time.perf_counter() + seconds
    with socket.create_connection(("127.0.0.1", port)) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for n in range(10_000_000):
            request, expected = asked[n % len(asked)]
            start = time.perf_counter()
            stream.sendall(request)
            answer = stream.recv(4_096)
            if not answer.endswith(expected):
                results.put(f"a wrong answer: {request} {answer}")
                return
            now = time.perf_counter()
            took.append(now - start)
            if now > end:
                break
    results.put((took, sum(os.times()[:2])))


def processor_time(root):
    """The seconds that a process and those it has started have used."""
    ticks, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        except OSError:
            continue
        # Its own, and those of the ones that have ended.
        ticks += sum(int(field) for field in fields[11:15])
        waiting += children
    return ticks / os.sysconf("SC_CLK_TCK")


class Throttle:
    """Lets processes run for a share of the time, and not both at once: each has the machine for itself then."""

    def __init__(self, nodes, share):
        self.nodes, self.share, self.over = nodes, share, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        for node in self.nodes:
            node.send_signal(signal.SIGSTOP)
        while not self.over.is_set():
            for node in (*self.nodes, None)[:MOST]:
                begin = time.perf_counter()
                if node:
                    node.send_signal(signal.SIGCONT)
                    time.sleep(PERIOD * self.share)
                    node.send_signal(signal.SIGSTOP)
                time.sleep(max(0, begin + PERIOD / MOST - time.perf_counter()))
        for node in self.nodes:
            node.send_signal(signal.SIGCONT)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def measure(nodes, server, seconds, share):
    """Checks a second, their median time, and the processor time of each, with these nodes."""
    begin, results = multiprocessing.Event(), multiprocessing.Queue()
    clients = [
        multiprocessing.Process(target=ask, args=(port, port + n, begin, seconds, results))
        for _, port in nodes
        for n in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    time.sleep(0.5)
    processes = [node for node, _ in nodes]
    used = [processor_time(node.pid) for node in processes], processor_time(server.pid)
    throttle = Throttle(processes if share < 1 else [], share)
    with throttle:
        begin.set()
        answers = [results.get(timeout=seconds + 60) for _ in clients]
    after = [processor_time(node.pid) for node in processes], processor_time(server.pid)
    for client in clients:
        client.join()
    wrong = [answer for answer in answers if isinstance(answer, str)]
    assert not wrong, wrong[0]
    took = [time for times, _ in answers for time in times]
    spent = sum(after[0]) - sum(used[0]), after[1] - used[1], sum(spent for _, spent in answers)
    return len(took) / seconds, median(took) * 1e3, [part / len(took) * 1e6 for part in spent]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", default=ROOT / "target/release/portcullis")
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--share", type=float, default=0.2)
    options = options.parse_args()
    folder, running = Path(tempfile.mkdtemp(prefix="portcullis-nodes.")), []
    try:
        server, store = start_postgres(folder)
        running.append(server)
        nodes = []
        for _ in range(MOST):
            nodes.append(start_node(options.program, store))
            running.insert(0, nodes[-1][0])
        load(nodes[0][1])
        measure(nodes, server, 2, 1)
        print("| nodes run | nodes | checks per second | p50 | µs per check: node, PostgreSQL, client |")
        print("| --- | --- | --- | --- | --- |")
        for share in (1, options.share):
            rounds = []
            for _ in range(options.rounds):
                rounds.append([measure(nodes[:n], server, options.seconds, share) for n in range(1, MOST + 1)])
            for n in (0, 1):
                rates, times, spent = zip(*(measured[n] for measured in rounds), strict=True)
                parts = ", ".join(f"{median(part):.0f}" for part in zip(*spent, strict=True))
                print(f"| {share:.0%} | {n + 1} | {median(rates):,.0f} | {median(times):.2f} ms | {parts} |")
            gains = sorted(two[0] / one[0] for one, two in rounds)
            every = ", ".join(f"{gain:.2f}" for gain in gains)
            print(f"| {share:.0%} | two : one | **{median(gains):.2f}** of {every} | | |")
    finally:
        for process in running:
            # To PostgreSQL, SIGTERM would mean to wait for its clients.
            process.send_signal(signal.SIGINT)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
