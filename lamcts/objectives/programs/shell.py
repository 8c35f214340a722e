"""Find the words of a command that a shell reads as a program: no values are inserted there.

No list of such programs is complete. So a text that a shell could obey must be a word of its own, or follow the `=` of
an option. Known programs that pass whole words to a shell do not get it either.
"""

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePath

OPERATORS = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "&>"}
SHELLS = {"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"}
HANDING = {"su", "runuser", "script", "flock"}  # what follows their -c is for a shell, in any position
JOINING = {"ssh", "watch"}  # all their words are joined, and are for a shell
ADVICE = "sh -c 'echo \"$1\" | ...' sh {{{}}}"  # the value is an argument, which the shell does not read
WITH_A_VALUE = {"--rcfile", "--init-file"}  # options of bash whose value is a word of its own
OPTION = re.compile(r"[-+\w./:]+=")  # what may stand before a value in its word
BEHIND = re.compile(r"-[A-Za-z]*c|--(session-)?command")  # a word behind which stand commands
WITH_COMMANDS = re.compile(r"--(session-)?command=")


def is_plain(text: str) -> bool:
    """Return whether a shell reads a text literally, wherever it is inserted."""
    return shlex.quote(text) == text


def programs(words: Sequence[str]) -> list[str]:
    """Return those of `words` that a shell among them reads as a program; it may stand anywhere: `nice bash -c ...`."""
    found = [_program(words[i + 1 :]) for i, word in enumerate(words) if PurePath(word).name in SHELLS]
    handed = [_handed(words[i + 1 :]) for i, word in enumerate(words) if PurePath(word).name in HANDING]
    return [text for text in found if text is not None] + [text for texts in handed for text in texts]


def joined(words: Sequence[str]) -> Sequence[str]:
    """Return those of `words` that a program joins for a shell."""
    return next((words[i + 1 :] for i, word in enumerate(words) if PurePath(word).name in JOINING), ())


def _handed(arguments: Sequence[str]) -> list[str]:
    """Return the words behind -c, alone or as in -qc, and those with --command=."""
    behind = [after for word, after in pairwise(arguments) if BEHIND.fullmatch(word)]
    return behind + [word for word in arguments if WITH_COMMANDS.match(word)]


def _program(arguments: Sequence[str]) -> str | None:
    """Return the first argument of a shell that is no option, if -c precedes it, alone or as in -lc."""
    given, rest = False, iter(arguments)
    for word in rest:
        if word in ("-", "--"):
            return next(rest, None) if given else None
        if not word.startswith(("-", "+")):
            return word if given else None
        short = "" if word.startswith("--") else word.lower()
        given = given or "c" in short
        for _ in range(short.count("o") + (word in WITH_A_VALUE)):  # -o pipefail, -O extglob
            next(rest, None)
    return None
