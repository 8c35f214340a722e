"""The line between evaluations in other processes and the run: a report goes there, a verdict comes back.

A socket, one text line each way: the key and JSON, and JSON. Whoever reports must know the key, which travels with the
trial alone: nothing is read of a line without it. Where the run cannot be reached, as from another machine, trials are
not stopped: their reports arrive with their results. Only where a Dask cluster has workers on other machines can those
reach the run, at the address that leads to its scheduler; the key is then seen on that network, which is to be trusted.

Not `multiprocessing.connection`: its listener asks for the key in the thread that accepts, without a time-out, where
one silent connection holds up all others, and its client waits minutes for an address behind a firewall.
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

from lamcts.study.reporting import Judge
from lamcts.text import safe_text

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


class Near:
    """The judge in the process of the run; where it is sent to another process, it arrives as a `Far`.

    host: an address of this machine: there it listens, and nowhere else.
    """

    def __init__(self, judge: Judge, host: str = LOOPBACK) -> None:
        self._judge, self._host = judge, host
        self._server: _Server | None = None
        self._lock = threading.Lock()  # executors send from threads of their own

    def __call__(self, number: int, step: int, value: float, first: bool) -> bool:
        return self._judge(number, step, value, first)

    def __reduce__(self) -> Any:
        with self._lock:
            if self._server is None:
                self._server = _Server(self._judge, self._host)
        return Far, (self._host, self._server.server_address[1], self._server.key)

    def end(self) -> None:
        """Answer nobody any more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class Far:
    """The judge in another process."""

    def __init__(self, host: str, port: int, key: str) -> None:
        self._host, self._port, self._key = host, port, key
        self._line: socket.socket | None = None

    def __call__(self, number: int, step: int, value: float, first: bool) -> bool:
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

    def _answer(self, text: bytes) -> dict[str, Any] | None:
        """Return what the run answers; None where it does not."""
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

    def _read(self, line: socket.socket) -> dict[str, Any] | None:
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


class _Server(socketserver.ThreadingTCPServer):
    """Answers reports until it is shut down, in a thread for each connection.

    strangers: connections that have not shown the key yet, the oldest first, and since when they have been there. The
    oldest make room for new ones, among which are workers.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = QUEUE

    def __init__(self, judge: Judge, host: str) -> None:
        self.judge, self.key = judge, token_hex(32)
        self.strangers: dict[Any, float] = {}
        super().__init__((host, 0), _Answers)
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


class _Answers(socketserver.StreamRequestHandler):
    server: _Server

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


def _answer_to(text: bytes, judge: Callable[..., bool]) -> dict[str, Any] | None:
    """Return the answer to a report; None where it is none."""
    try:
        said = json.loads(text)
        report = int(said["trial"]), int(said["step"]), float(said["value"]), bool(said["first"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    try:
        return {"stop": bool(judge(*report))}
    except Exception as error:  # a pruner of anybody's
        return {"error": f"{type(error).__name__}: {safe_text(error)}"}
