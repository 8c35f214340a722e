"""What kinds of failures there were: told by their messages, which is all that a journal keeps of them."""

import re
from collections.abc import Mapping

DEATHS = ("BrokenProcessPool", "BrokenExecutor", "CancelledError", "KilledWorker", "WorkerLostError")
KINDS = {  # in the order in which they are looked for; what is none of them has raised something else
    "invalid point": re.compile(r"InvalidPoint(:|$)"),
    "timed out": re.compile(r"\w*Timeout\w*(:|$)"),
    "died": re.compile(rf"({'|'.join(DEATHS)})(:|$)|\w+: killed by "),
    "no number": re.compile(r"no value$|(?!\w*(Error|Exception):).* is -?(nan|inf)$"),
}
OTHER = "raised"


def kind_of(message: str) -> str:
    """Return what kind of failure a message tells of."""
    return next((kind for kind, words in KINDS.items() if words.match(message)), OTHER)


def by_kind(messages: Mapping[int, str]) -> dict[str, list[int]]:
    """Return the rows of each kind of failure, the most frequent kind first, from what went wrong by row."""
    found: dict[str, list[int]] = {}
    for row, message in messages.items():
        found.setdefault(kind_of(message), []).append(row)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))
