"""Socket channel from workers to the run: intermediate reports in, pruning decisions out.

A worker sends the key and a report as JSON in one line, and receives the decision as JSON in one line. The key is sent
to workers with the trial alone, and a connection without the key is closed. A worker that cannot reach the run, such as
one on another machine, is never pruned, and its reports arrive with its result. Workers of a Dask cluster reach the run
at the address that leads to its scheduler. The key is visible on that network, which has to be trusted.

`multiprocessing.connection` does not serve: `Listener.accept` checks the key in the accepting thread without a
time-out, so one silent connection blocks all others. `Client` has no time-out either.
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
CONNECT_SECONDS = 5.0  # to reach the run: longer delays a worker behind a firewall, shorter cuts off slow networks
ANSWER_SECONDS = 60.0  # for a decision: the run may be busy with a model, after which the trial is not pruned
TRIES = 2  # connections for a report: a lost one is replaced once
POLL_SECONDS = 0.05  # delay of the end of a run, at most
LONGEST = 4096  # bytes of a line
STRANGER_SECONDS = 5.0  # for a connection to send the key, which a worker sends at once
QUEUE = 1024  # connections that wait to be accepted: all workers of a cluster may connect at once
STRANGERS = 32  # connections without the key at a time, 3 % of the usual 1,024 descriptors of a process

_unreachable: set[str] = set()  # keys of runs that this process could not reach


class ReportServer:
    """The pruning decisions in the process of the run; a pickled server becomes a `ReportClient`."""

    def __init__(self, judge: Judge, host: str = LOOPBACK) -> None:
        self._judge = judge
        self._host = host
        self._server: _SocketServer | None = None
        self._lock = threading.Lock()  # executors pickle in their threads

    def __call__(self, number: int, step: int, value: Value, first: bool) -> bool:
        return self._judge(number, step, value, first)

    def __reduce__(self) -> Any:
        with self._lock:
            if self._server is None:
                self._server = _SocketServer(self._judge, self._host)
        return ReportClient, (self._host, self._server.server_address[1], self._server.key)

    def end(self) -> None:
        """Shut down the server."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class ReportClient:
    """The pruning decisions in a worker process."""

    def __init__(self, host: str, port: int, key: str) -> None:
        self._host = host
        self._port = port
        self._key = key
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
        """Return the answer of the run, None without one."""
        for _ in range(TRIES):
            try:
                if self._line is None:
                    self._line = socket.create_connection((self._host, self._port), CONNECT_SECONDS)
                    self._line.settimeout(ANSWER_SECONDS)
                self._line.sendall(text)
                if answer := self._read(self._line):
                    return answer
            except (OSError, ValueError):
                pass
            self.close()
        return None

    def _read(self, line: socket.socket) -> Json | None:
        received = b""
        while not received.endswith(b"\n") and len(received) < LONGEST:
            if not (data := line.recv(LONGEST)):
                return None  # closed: the run has ended, or another program has its port
            received += data
        answer = json.loads(received)
        return answer if isinstance(answer, dict) else None


def address_towards(url: str) -> str:
    """Return the address of this machine towards a scheduler at `url`; the loopback address for another kind of URL."""
    host = urlsplit(url)
    if host.scheme not in ("tcp", "tls") or not host.hostname:
        return LOOPBACK
    with socket.socket(socket.AF_INET6 if ":" in host.hostname else socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect((host.hostname, host.port or 1))  # sends nothing
        return str(line.getsockname()[0])


class _SocketServer(socketserver.ThreadingTCPServer):
    """Answers reports in a thread for each connection."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = QUEUE

    def __init__(self, judge: Judge, host: str) -> None:
        self.judge = judge
        self.key = token_hex(32)
        self.strangers: dict[Any, float] = {}  # connections without the key -> their start, the oldest first
        super().__init__((host, 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), daemon=True).start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.strangers[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close connections without the key that are too old, or too many; called after each poll and connection."""
        connections = list(self.strangers.items())
        late = time.monotonic() - STRANGER_SECONDS
        for i, (line, since) in enumerate(connections):
            if since < late or i < len(connections) - STRANGERS:
                with suppress(OSError):  # it may be closed
                    line.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self.strangers.pop(request, None)
        super().shutdown_request(request)


class _Handler(socketserver.StreamRequestHandler):
    server: _SocketServer

    def handle(self) -> None:
        with suppress(OSError):  # the worker may have ended
            while text := self.rfile.readline(LONGEST):
                key, _, said = text.partition(b" ")
                if not compare_digest(key, self.server.key.encode()):
                    return
                self.server.strangers.pop(self.request, None)
                if (answer := _answer_to(said, self.server.judge)) is None:
                    return
                self.wfile.write(json.dumps(answer).encode() + b"\n")


def _answer_to(text: bytes, judge: Callable[..., bool]) -> Json | None:
    """Return the answer to a report, None for another message."""
    try:
        said = json.loads(text)
        reported = said["value"]
        value = tuple(map(float, reported)) if isinstance(reported, list) else float(reported)
        report = int(said["trial"]), int(said["step"]), value, bool(said["first"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    try:
        return {"stop": bool(judge(*report))}
    except Exception as error:  # a pruner may raise anything
        return {"error": f"{type(error).__name__}: {safe_text(error)}"}
