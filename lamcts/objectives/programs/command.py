"""Any program that prints a number, as an objective: `Command("./train --lr {lr} --layers {layers}", space)`."""

import re
import shlex
import signal
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from lamcts.objectives.programs import shell
from lamcts.objectives.programs.process import last_words, run
from lamcts.rng import fresh_seed
from lamcts.spaces.box import Float
from lamcts.spaces.discrete import Bool, Choice, Int
from lamcts.spaces.product import Space
from lamcts.text import SHOWN

SEED = "seed"
# not glued to letters or other digits: no number in "v2", "3.2s", "1.2.3" or "run-3"; and one way only to match some
# digits, or a long line of them would take a time that grows with its square
NUMBER = re.compile(
    r"(?<![\w.+-])[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)(?![\w]|\.\w)", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Command:
    """The number that a program prints, for the parameters of `space` in the `{name}` places of `template`.

    template: the program and its arguments, split into words as a shell would, or given as words; there is no shell,
        so each value stays in its word. Every parameter needs its `{name}`; `{name:.3g}` formats it, `{seed}` is a
        whole number of each trial's own, for the program's noise, and `{{` `}}` are braces. True is written `true`.
        Where the program is a shell, texts are its arguments, `sh -c 'echo "$1" | wc -c' sh {name}`: pasted into
        what it reads, they could be commands. Numbers may stand there.
    space: a `Space` with names, of numbers, choices and truth values.
    timeout_seconds: after this long the program is killed, with all that it started (None: never; seconds).
    maximize: whether higher numbers are better (False).
    pattern: what is read (None: the last number on the last line of the output that is not empty). A regular expression
        is looked for in the output instead, and its last match read: its group, or all of it where it has none.
    x0: a point to start from (None).

    A time-out, an exit status other than 0, no number, and more output than 64 MiB raise: a failed evaluation.
    Picklable; any number of them run at a time, in processes or in threads.
    """

    template: str | Sequence[str]
    space: Space
    timeout_seconds: float | None = None
    maximize: bool = False
    pattern: str | None = None
    x0: Mapping[str, Any] | None = None

    optimum = None

    def __post_init__(self) -> None:
        _check_space(self.space)
        self._check_template()
        if self.timeout_seconds is not None and not 0 < self.timeout_seconds < float("inf"):
            raise ValueError(f"timeout_seconds: expected a number above 0 or None, got {self.timeout_seconds!r}")
        if self.pattern is not None:
            _check_pattern(self.pattern)

    @property
    def name(self) -> str:
        return Path(self.words[0]).name

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The template, word by word."""
        if not isinstance(self.template, str):
            return tuple(self.template)
        try:
            return tuple(shlex.split(self.template))
        except ValueError as error:
            raise ValueError(
                f"template: expected words as in a shell, got {self.template!r} ({error}): close the quotation"
            ) from None

    def arguments(self, point: Mapping[str, Any], seed: int) -> list[str]:
        """Return the words of the program's call at `point`."""
        values = {name: str(v).lower() if isinstance(v, (bool, np.bool_)) else v for name, v in point.items()}
        values[SEED] = seed
        return [
            "".join(text + ("" if name is None else format(values[name], spec)) for text, name, spec in _parts(word))
            for word in self.words
        ]

    def __call__(self, point: Mapping[str, Any], *, seed: int | None = None) -> float:
        ended = run(self.arguments(point, fresh_seed() if seed is None else seed), self.timeout_seconds)
        if ended.status:
            raise RuntimeError(f"{_how(ended.status)}{last_words(ended.errors)}")
        return self.read(ended.output)

    def read(self, output: str) -> float:
        """Return the value in what the program wrote to its output; ValueError if there is none."""
        if self.pattern is not None:
            found = list(re.finditer(self.pattern, output, re.MULTILINE))
            text = (found[-1][1] if found[-1].re.groups else found[-1][0]) if found else None
            wanted = f"a match of {self.pattern!r} in the output"
        else:
            line = next((line for line in reversed(output.splitlines()) if line.strip()), "")
            text, wanted = (NUMBER.findall(line) or [None])[-1], "a number on the last line of the output"
        try:
            return float(text or "")
        except ValueError:
            got = text[:SHOWN] if text else output.strip()[-SHOWN:]
            raise ValueError(f"expected {wanted}, got {got!r}") from None

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return {"command": list(self.words), "pattern": self.pattern}

    def _check_template(self) -> None:
        if not self.words or not all(isinstance(word, str) for word in self.words):
            raise ValueError(f"template: expected a program and its arguments as text, got {self.template!r}")
        for word in self.words:
            if word in shell.OPERATORS:
                advice = shell.ADVICE.format("x")
                raise ValueError(f"template: expected one program, got {word!r}, which is for a shell: use {advice}")
        self._check_places()
        self._check_shells()
        point = self.space.decode(self.space.sample(1, np.random.default_rng(0))[0])
        try:
            self.arguments(point, seed=0)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"template: expected formats that fit the parameters, got {error}") from None

    def _check_places(self) -> None:
        names = [name for name in self.space.names or () if name is not None]
        used = [name for word in self.words for _, name, _ in _parts(word) if name is not None]
        for name in used:
            if name not in (*names, SEED):
                known = ", ".join(f"{{{each}}}" for each in (*names, SEED))
                raise ValueError(
                    f"template: expected one of {known}, got {{{name}}}: name the parameter, or write {{{{ for a brace"
                )
        for name in names:
            if name not in used:
                raise ValueError(
                    f"template: expected a place for every parameter, got none for {name!r}: write {{{name}}} into it"
                )

    def _check_shells(self) -> None:
        """Refuse a text, which may hold anything, inside what a shell reads as a program."""
        members = dict(zip(self.space.names or (), self.space.members, strict=True))
        for program in shell.programs(self.words):
            for _, name, spec in _parts(program):
                if name in members and not _is_number(members[name], spec):
                    raise ValueError(
                        f"template: expected {name!r} as a word of its own, as its options are texts, got {{{name}}} "
                        f"inside {program!r}, which a shell reads as commands: use {shell.ADVICE.format(name)}"
                    )


def _is_number(member: Any, spec: str) -> bool:
    """Return whether a parameter is written as a number, or as true or false, at all of its values."""
    options = member.options if isinstance(member, Choice) else ()
    return all(isinstance(option, Real) for option in options) and not spec.endswith("c")  # c: the character


def _parts(word: str) -> list[tuple[str, str | None, str]]:
    """Return the pieces of a word: a text, and the parameter after it (None: none) with its format."""
    try:
        pieces = list(string.Formatter().parse(word))
    except ValueError as error:
        raise ValueError(f"template: expected {{name}}, got {word!r} ({error}): write {{{{ }}}} for braces") from None
    for _, name, spec, conversion in pieces:
        if conversion or "{" in (spec or "") or (name is not None and not re.fullmatch(r"[\w-]+", name)):
            raise ValueError(f"template: expected plain names as in {{lr}} or {{lr:.3g}}, got {word!r}")
        if re.search(r"\d{4}", spec or ""):
            raise ValueError(
                f"template: expected at most 999 characters for a value, got {{{name}:{spec}}}: write less"
            )
    return [(text, name, spec or "") for text, name, spec, _ in pieces]


def _check_space(space: Any) -> None:
    if not isinstance(space, Space) or space.names is None:
        got = type(space).__name__
        raise ValueError(f"space: expected a Space with names, such as Space({{'lr': Float(0, 1)}}), got {got}")
    for name, member in zip(space.names, space.members, strict=True):
        if not isinstance(member, (Float, Int, Bool, Choice)):
            got = type(member).__name__
            raise ValueError(f"space: expected {name!r} as a single value (Float, Int, Bool or Choice), got {got}")
        if name == SEED:
            raise ValueError("space: expected no parameter called 'seed', which is each trial's own: rename it")


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"pattern: expected a regular expression, got {pattern!r}: {error}") from None
    if groups > 1:
        raise ValueError(f"pattern: expected at most one group, got {groups} in {pattern!r}: write (?:...) for others")


def _how(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
