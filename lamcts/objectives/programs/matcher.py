"""The program that `matching` starts: it answers each line, a request, with what a regular expression finds.

It loads the standard library only, and an alarm ends it where a match takes too long: a match notices no other stop.
"""

import json
import re
import signal
import sys
from collections import deque
from collections.abc import Sequence

Found = list[list[list[str | None]]]  # groups of the matches of each text


def found(pattern: str, groups: Sequence[int | str], most: int | None, texts: Sequence[str]) -> Found:
    """Return the groups of the last `most` matches in each text (None: of all)."""
    made = re.compile(pattern, re.MULTILINE)
    return [[[match[group] for group in groups] for match in deque(made.finditer(text), most)] for text in texts]


def serve() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    for line in sys.stdin:
        *request, seconds = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        answer = found(*request)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
