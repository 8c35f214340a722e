"""The page of a report over HTTP, on this machine alone: it reloads itself while a run goes on."""

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lamcts.report.html import plotly_js, text
from lamcts.report.page import POLICY, whole
from lamcts.report.runs import LabelledRun
from lamcts.text import safe_text

LOOPBACK = "127.0.0.1"  # the only address: whoever reads the page is on this machine
SHARE = 10  # a page is not made again before this many times the seconds that it took: the run needs the processor
LOOK_MS = 2000  # how often an open page asks whether there is a new one (by eye)
IDLE_SECONDS = 30  # after which a connection without a request, or whose reader takes nothing, is closed (untuned)
LIVE_POLICY = POLICY.replace("script-src", "connect-src 'self'; script-src 'self'")
SCRIPTS = '<script src="plotly.js"></script>'
FOOT = """<div style="position:fixed;right:10px;bottom:10px;background:#fffe;border:1px solid #dfe3e8;border-radius:8px;
padding:4px 10px;font-size:13px;z-index:9"><span id="live">live</span>
<label><input type="checkbox" id="hold"> hold</label></div>
<script>const known=VERSION,live=document.getElementById('live'),hold=document.getElementById('hold');
async function look(){try{const now=await(await fetch('state',{cache:'no-store'})).json();
live.textContent=now.running?'live':'the run has ended';
if(now.version!==known&&!hold.checked)location.reload()}catch{live.textContent='lamcts serve has ended'}}
setInterval(look,EVERY);look()</script>"""  # scrolls stay where they are when a page reloads itself


class LiveReport:
    """The newest page, made when a journal has changed."""

    def __init__(
        self, read: Callable[[], Sequence[LabelledRun]], state: Callable[[], tuple[object, bool]], seconds: float
    ) -> None:
        self._read, self._state, self._seconds = read, state, seconds
        self._lock = threading.Lock()
        self._page, self._made_of = b"", ""
        self._next = 0.0  # when a new page may be made, by the monotonic clock

    def state(self) -> dict[str, object]:
        """Return the version of the page that a reader would get now, and whether the run goes on."""
        now, running = self._state()
        with self._lock:
            return {"version": self._version(now), "running": running}

    def page(self) -> bytes:
        """Return the page, made again if a journal has changed and the last page is old enough."""
        now, _ = self._state()
        with self._lock:
            if (version := self._version(now)) != self._made_of:
                start = time.monotonic()
                foot = FOOT.replace("VERSION", json.dumps(version)).replace("EVERY", str(LOOK_MS))
                self._page = whole(self._read(), SCRIPTS, LIVE_POLICY, foot).encode()
                end = time.monotonic()
                self._made_of, self._next = version, end + max(self._seconds, SHARE * (end - start))
            return self._page

    def _version(self, now: object) -> str:
        return self._made_of if self._made_of and time.monotonic() < self._next else repr(now)


class LiveServer(ThreadingHTTPServer):
    """Serves the page at `url`, to this machine alone; ValueError where the port is taken. Port 0 takes a free one."""

    daemon_threads = True  # an open connection keeps nothing alive

    def __init__(self, report: LiveReport, port: int) -> None:
        self.report, self.plotly = report, plotly_js().encode()
        if not 0 <= port <= 65535:
            raise ValueError(f"port: expected a number from 0 to 65535, got {port}")
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise ValueError(
                f"port: expected a free port, got {port} ({error.strerror}); give another, or 0 for any free one"
            ) from None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a reader that has hung up; the traceback of any other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    timeout = IDLE_SECONDS

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        here = {f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")}
        if self.headers.get("Host") not in here:  # a page of another site that names this address as its own
            return self._send(HTTPStatus.FORBIDDEN, b"open the address that lamcts serve prints", "text/plain")
        path = self.path.partition("?")[0]
        if path == "/plotly.js":
            return self._send(HTTPStatus.OK, self.server.plotly, "text/javascript", "max-age=3600")
        if path not in ("/", "/state"):
            return self._send(HTTPStatus.NOT_FOUND, b"there are / and /state", "text/plain")
        try:
            made = self.server.report.page() if path == "/" else json.dumps(self.server.report.state()).encode()
        except Exception as error:  # such as a journal that was moved away; the next one may be whole
            return self._send(HTTPStatus.SERVICE_UNAVAILABLE, _trouble(error), "text/html; charset=utf-8")
        return self._send(HTTPStatus.OK, made, "text/html; charset=utf-8" if path == "/" else "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str, cache: str = "no-store") -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": cache}
        for name, value in (headers | {"X-Content-Type-Options": "nosniff"}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def _trouble(error: Exception) -> bytes:
    """Return a page with an error, which reloads itself."""
    return f'<!doctype html><meta http-equiv="refresh" content="5"><p>{text(safe_text(error))}</p>'.encode()
