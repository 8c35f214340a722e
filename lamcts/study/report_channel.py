"""Socket channel from workers to the run: intermediate reports in, pruning decisions out.

One text line each way: the key and a report as JSON, and the decision as JSON. The key travels with the trial alone;
nothing is read from a connection that does not send it. A worker that cannot reach the run, such as one on another
machine, is never pruned, and its reports arrive with its result. Workers of a Dask cluster reach the run at the address
that leads to its scheduler; the key is visible on that network, which has to be trusted.

Not `multiprocessing.connection`: `Listener.accept` checks the key in the thread that accepts, without a time-out: one
silent connection blocks all others; `Client` has no time-out to connect and waits minutes for a firewalled address.
"""

import json
import socket
import socketserver
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from hmac import compare_digest
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from lamcts.study.reporting import Judge, Value
from lamcts.text import safe_text
from lamcts.types import Json

LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 5.0  # to reach the run from another machine (untuned)
ANSWER_SECONDS = 60.0  # the run may be busy with a model (untuned)
TRIES = 2  # a line that was cut is made once more
POLL_SECONDS = 0.05  # how often the end of a run is noticed (untuned)
LONGEST = 4096  # bytes of a line
STRANGER_SECONDS = 5.0  # for a connection to show the key: a worker does so at once (untuned)
QUEUE = 1024  # connections that wait to be accepted, as the workers of a cluster come at once (untuned)
STRANGERS = 32  # connections without the key at a time, of the 1,024 descriptors that a process usually has (untuned)

_unreachable: set[str] = set()  # keys of runs that did not answer this process


class ReportServer:
    """The pruning decisions in the process of the run; pickled, it becomes a `ReportClient`."""

    def __init__(self, judge: Judge, host: str = LOOPBACK) -> None:
        self._judge, self._host = judge, host
        self._server: _SocketServer | None = None
        self._lock = threading.Lock()  # executors send from threads of their own

    def __call__(self, number: int, step: int, value: Value, first: bool) -> bool:
        return self._judge(number, step, value, first)

    def __reduce__(self) -> Any:
        with self._lock:
            if self._server is None:
                self._server = _SocketServer(self._judge, self._host)
        return ReportClient, (self._host, self._server.server_address[1], self._server.key)

    def end(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class ReportClient:
    """The pruning decisions in a worker process."""

    def __init__(self, host: str, port: int, key: str) -> None:
        self._host, self._port, self._key = host, port, key
        self._line: socket.socket | None = None

    def __call__(self, number: int, step: int, value: Value, first: bool) -> bool:
        if self._key in _unreachable:
            return False
        said = {"trial": number, "step": step, "value": value, "first": first}
        answer = self._answer(f"{self._key} {json.dumps(said)}\n".encode())
        if answer is None:
            _unreachable.add(self._key)
            text = "the run that this trial belongs to cannot be reached from here: reports arrive with the result"
            warnings.warn(f"{text}, and no trial is stopped", RuntimeWarning, stacklevel=3)
            return False
        if "error" in answer:
            raise RuntimeError(f"the pruner failed: {answer['error']}")
        return bool(answer["stop"])

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _answer(self, text: bytes) -> Json | None:
        """Return the answer of the run; None if there is none."""
        for _ in range(TRIES):
            try:
                if self._line is None:
                    self._line = socket.create_connection((self._host, self._port), CONNECT_SECONDS)
                    self._line.settimeout(ANSWER_SECONDS)
                self._line.sendall(text)
                if found := self._read(self._line):
                    return found
            except (OSError, ValueError):
                pass
            self.close()
        return None

    def _read(self, line: socket.socket) -> Json | None:
        read = b""
        while not read.endswith(b"\n") and len(read) < LONGEST:
            if not (more := line.recv(LONGEST)):
                return None  # hung up: it is another's line, or the run has ended
            read += more
        found = json.loads(read)
        return found if isinstance(found, dict) else None


def address_towards(url: str) -> str:
    """Return the address of this machine from which a scheduler at `url` is reached; the loopback's within it."""
    host = urlsplit(url)
    if host.scheme not in ("tcp", "tls") or not host.hostname:
        return LOOPBACK
    with socket.socket(socket.AF_INET6 if ":" in host.hostname else socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect((host.hostname, host.port or 1))  # sends nothing
        return str(line.getsockname()[0])


class _SocketServer(socketserver.ThreadingTCPServer):
    """Answers reports until it is shut down, in a thread for each connection."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = QUEUE

    def __init__(self, judge: Judge, host: str) -> None:
        self.judge, self.key = judge, token_hex(32)
        self.strangers: dict[Any, float] = {}  # connections without the key, the oldest first: since when
        super().__init__((host, 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.strangers[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Hang up on strangers that have had their time, or are too many; called after each poll and connection."""
        there, late = list(self.strangers.items()), time.monotonic() - STRANGER_SECONDS
        for place, (line, since) in enumerate(there):
            if since < late or place < len(there) - STRANGERS:
                with suppress(OSError):  # gone already
                    line.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self.strangers.pop(request, None)
        super().shutdown_request(request)


class _Handler(socketserver.StreamRequestHandler):
    server: _SocketServer

    def handle(self) -> None:
        with suppress(OSError):  # the worker has gone
            while text := self.rfile.readline(LONGEST):
                key, _, said = text.partition(b" ")
                if not compare_digest(key, self.server.key.encode()):
                    return
                self.server.strangers.pop(self.request, None)
                if (answer := _answer_to(said, self.server.judge)) is None:
                    return
                self.wfile.write(json.dumps(answer).encode() + b"\n")


def _answer_to(text: bytes, judge: Callable[..., bool]) -> Json | None:
    """Return the answer to a report; None where it is none."""
    try:
        said = json.loads(text)
        given = said["value"]
        value = tuple(map(float, given)) if isinstance(given, list) else float(given)
        report = int(said["trial"]), int(said["step"]), value, bool(said["first"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    try:
        return {"stop": bool(judge(*report))}
    except Exception as error:  # a pruner may raise anything
        return {"error": f"{type(error).__name__}: {safe_text(error)}"}
