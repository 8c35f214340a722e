"""Where the words of a command hand a text to a shell, which reads it as a program: nothing is pasted in there."""

from collections.abc import Sequence
from pathlib import PurePath

OPERATORS = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "&>"}
SHELLS = {"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"}
ADVICE = "sh -c 'echo \"$1\" | ...' sh {{{}}}"  # the value is an argument, which the shell does not read
WITH_A_VALUE = {"--rcfile", "--init-file"}  # options of bash whose value is a word of its own


def programs(words: Sequence[str]) -> list[str]:
    """Return those of `words` that a shell among them reads as a program; it may stand anywhere: `nice bash -c ...`."""
    found = [_program(words[i + 1 :]) for i, word in enumerate(words) if PurePath(word).name in SHELLS]
    return [text for text in found if text is not None]


def _program(arguments: Sequence[str]) -> str | None:
    """Return the first argument of a shell that is no option, if -c stands before it, alone or as in -lc."""
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
