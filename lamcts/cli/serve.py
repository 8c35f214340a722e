"""`lamcts serve`: the report of one or several runs in a browser, while they go on."""

import argparse
from collections.abc import Sequence

from lamcts.cli.console import say
from lamcts.cli.follow import file_state
from lamcts.cli.parser import Parser
from lamcts.cli.report import runs_of
from lamcts.journal.lock import is_written
from lamcts.report.live import LiveReport, LiveServer
from lamcts.study.load import journal_in

PORT = 8008  # of no program that users of ours run next to it (by eye)
SECONDS = 5.0  # between two pages (by eye)


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", nargs="+", help="a journal, or the folder of a run; several are compared")
    one.add_argument("--port", type=int, default=PORT, help=f"port at 127.0.0.1, 0 for any free one (default: {PORT})")
    line = f"seconds between two pages, at least (default: {SECONDS:g})"
    one.add_argument("--every", type=float, default=SECONDS, metavar="SECONDS", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    with server_of(args.journal, args.port, args.every) as server:
        say(f"{server.url} shows the run as it goes on, to this machine only (Ctrl-C ends)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("ended")
    return 0


def server_of(paths: Sequence[str], port: int, seconds: float) -> LiveServer:
    """Return a server of the page on some journals; an error where one of them is missing."""
    runs_of(paths)

    def state() -> tuple[object, bool]:
        journals = [journal_in(path) for path in paths]
        return [file_state(journal) for journal in journals], any(map(is_written, journals))

    return LiveServer(LiveReport(lambda: runs_of(paths), state, seconds), port)
