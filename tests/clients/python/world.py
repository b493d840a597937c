"""What the suites run against: the servers and the database that `tests/clients/main.rs` starts, as its environment names
them, and the policy that they share."""

import contextlib
import http.server
import json
import os
import pathlib
import socket
import threading


def _variable(name):
    try:
        return os.environ[name]
    except KeyError:
        raise RuntimeError(
            f"{name} is not set: run `cargo test --test clients`, or see tests/clients/README.md"
        ) from None


SHARED = pathlib.Path(__file__).parent.parent

# A server in development mode, a key to all of it, and one that may only read.
URL = _variable("OSO_URL")
KEY = _variable("OSO_AUTH")
READ_ONLY_KEY = _variable("READ_ONLY_AUTH")
UNKNOWN_KEY = "e_0123456789_12345_unknown"
# A server that has no seat for any request: each is answered with 503.
BUSY_URL = _variable("BUSY_URL")
# A server that takes one request a second.
SLOW_URL = _variable("SLOW_URL")

POLICY = (SHARED / "policy.polar").read_text()
BINDINGS = SHARED / "bindings.yaml"

ACME = "a0000000-0000-4000-8000-000000000001"
GLOBEX = "b0000000-0000-4000-8000-000000000002"

MANY = [f"r{n:05}" for n in range(25_432)]


def parts(items):
    """A long list in parts of a size that one request may have."""
    return [items[start : start + 5000] for start in range(0, len(items), 5000)]


@contextlib.contextmanager
def database():
    """A connection to the application's database."""
    import psycopg

    with psycopg.connect() as connection:
        yield connection


def closed_url():
    """A port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


class Answers(contextlib.AbstractContextManager):
    """A server that gives these answers, each `(status, headers, body)`, one a request and the last one again and
    again, and counts the requests. Only for a status that the real server has no setting for."""

    def __init__(self, *answers):
        self.n_requests = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(handler):
                handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                status, headers, body = answers[min(self.n_requests, len(answers) - 1)]
                self.n_requests += 1
                text = json.dumps(body).encode()
                handler.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    handler.send_header(name, value)
                handler.end_headers()
                handler.wfile.write(text)

            do_GET = do_POST = answer

            def log_message(handler, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
