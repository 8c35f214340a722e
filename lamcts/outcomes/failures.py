"""Kinds of failures, read from their messages: a journal stores nothing else of a failure."""

import re
from collections.abc import Mapping

DEATHS = ("BrokenProcessPool", "BrokenExecutor", "CancelledError", "KilledWorker", "WorkerLostError")
KINDS = {  # the first match decides; without a match, the kind is `OTHER`
    "invalid point": re.compile(r"InvalidPoint(:|$)"),
    "timed out": re.compile(r"\w*Timeout\w*(:|$)"),
    "died": re.compile(rf"({'|'.join(DEATHS)})(:|$)|\w+: killed by "),
    "no number": re.compile(r"no value$|(?!\w*(Error|Exception):).* is -?(nan|inf)$"),
}
OTHER = "raised"


def kind_of(message: str) -> str:
    """Return the kind of failure of a message."""
    return next((kind for kind, words in KINDS.items() if words.match(message)), OTHER)


def by_kind(messages: Mapping[int, str]) -> dict[str, list[int]]:
    """Return the rows of each kind of failure, the most frequent kind first, from messages by row."""
    rows_by_kind: dict[str, list[int]] = {}
    for row, message in messages.items():
        rows_by_kind.setdefault(kind_of(message), []).append(row)
    return dict(sorted(rows_by_kind.items(), key=lambda item: -len(item[1])))
