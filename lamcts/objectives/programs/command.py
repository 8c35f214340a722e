"""Any program that prints numbers, as an objective: `Command("./train --lr {lr} --layers {layers}", space)`."""

import re
import shlex
import signal
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lamcts.objectives.programs import printed, shell
from lamcts.objectives.programs.matching import Matcher, limit
from lamcts.objectives.programs.process import last_words, run
from lamcts.objectives.programs.watched import Watch, check_report
from lamcts.outcomes.goals import Goals
from lamcts.rng import fresh_seed
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.float import Float
from lamcts.spaces.integer import Int
from lamcts.spaces.permutation import Permutation
from lamcts.spaces.product import Space
from lamcts.text import shortened

SEED = "seed"


@dataclass(frozen=True, eq=False)
class Command:
    """The number, or the numbers by name, that a program prints for the parameters in its arguments.

    Parameters
    ----------
    template : str or sequence of str
        The program and its arguments, split into words as by a shell. No shell is started, and each value stays in its
        word. Every parameter needs its `{name}`; `{name:.3g}` formats it, `{seed}` is an integer that differs between
        trials, and `{{` `}}` are braces. True is written `true`, and the items of a permutation have commas between. A
        parameter that is inactive at a point is removed with its word and an option before it: `--momentum {momentum}`.
        Numbers, and texts of ASCII letters, digits and any of `@%+=:,./-_`, may be part of any word. Other texts
        could be commands of a shell: they must be words of their own, `{name}` or `--name={name}`, and arguments of a
        shell, `sh -c 'echo "$1" | wc -c' sh {name}`. They are refused where a shell is known to read them (`sh -c`,
        `su -c`, `script -c`, `ssh`, `watch`); other programs that pass words to a shell are not detected.
    space : Space
        A `Space` with names, of numbers, choices, booleans and permutations.
    timeout_seconds : float or None, default None
        Time after which the program and its child processes are killed; None: never.
    maximize : bool, default False
        Whether higher numbers are better.
    pattern : str, mapping of str to str or None, default None
        A regular expression. The value is its last match in the output: its group, or all of it if it has none. With
        several names, a regular expression for each name. None: the last number on the last line that is not empty.
    report : str or None, default None
        A regular expression for intermediate values, with groups called step and value, or two groups. It is matched
        with each line as it comes, and the option `pruner` of `minimize` may end the program. None: no intermediate
        values.
    x0 : dict or None, default None
        A point to start from.
    objectives, constraints, reference : default None
        As in `Optimizer`; None: one number. Otherwise the last line of the output is a JSON object with a number for
        each objective and each constrained quantity that no pattern finds. Null for all objectives means that the
        point was checked and not run.

    Notes
    -----
    A time-out, a non-zero exit status, no number, and more than 64 MiB of output raise: the evaluation fails. So do
    regular expressions that take longer than the time-out, at least 1 and at most 10 seconds. The objective is
    picklable; many may run at a time, in processes or in threads.
    """

    template: str | Sequence[str]
    space: Space
    timeout_seconds: float | None = None
    maximize: bool = False
    pattern: str | Mapping[str, str] | None = None
    x0: Mapping[str, Any] | None = None
    objectives: Any = None
    constraints: Any = None
    reference: Any = None
    report: str | None = None

    optimum = None

    def __post_init__(self) -> None:
        _check_space(self.space)
        self._check_template()
        if self.timeout_seconds is not None and not 0 < self.timeout_seconds < float("inf"):
            raise ValueError(f"timeout_seconds: expected a number above 0 or None, got {self.timeout_seconds!r}")
        _check_patterns(self.pattern, self.names)
        check_report(self.report)

    @property
    def name(self) -> str:
        return Path(self.words[0]).name

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the values; none if there is one number."""
        if self.objectives is None and self.constraints is None:
            return ()
        goals = Goals.of(self.maximize, self.objectives, self.constraints, self.reference)
        return (*goals.names, *goals.quantities)

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
        values = {name: _written(value) for name, value in point.items()}
        values[SEED] = seed
        return [
            "".join(text + (format(values[name], spec) if name in values else "") for text, name, spec in _parts(word))
            for word in self._said(values)
        ]

    def _said(self, values: Mapping[str, Any]) -> list[str]:
        """Return the words without those of inactive parameters and the options before them.

        In a text that a shell reads as a program, an inactive parameter is empty.
        """
        said: list[str] = []
        programs = shell.programs(self.words)
        for word in self.words:
            absent = [name for _, name, _ in _parts(word) if name is not None and name not in values]
            if not absent or word in programs:
                said.append(word)
            elif word.startswith("{") and word.endswith("}") and said[-1:] and _is_option(said[-1]):
                said.pop()
        return said

    @property
    def reports(self) -> bool:
        """Whether it may report intermediate values."""
        return self.report is not None

    def __call__(
        self, point: Mapping[str, Any], *, seed: int | None = None, trial: Any = None
    ) -> float | dict[str, float | None]:
        watch = None if self.report is None or trial is None else Watch(self.report, trial, limit(self.timeout_seconds))
        ended = run(self.arguments(point, fresh_seed() if seed is None else seed), self.timeout_seconds, watch)
        if ended.status:
            raise RuntimeError(f"{_how(ended.status)}{last_words(ended.errors)}")
        return self.read(ended.output)

    def read(self, output: str) -> float | dict[str, float | None]:
        """Return the value in what the program wrote to its output, or numbers by name; ValueError if there is none."""
        patterns = self.pattern if isinstance(self.pattern, Mapping) else {}
        with Matcher(limit(self.timeout_seconds)) as matcher:
            if len(self.names) > 1 or patterns or (self.names and self.pattern is None and printed.is_object(output)):
                return printed.numbers(output, self.names, patterns, matcher)
            return printed.number(output, self.pattern if isinstance(self.pattern, str) else None, matcher)

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return {
            "command": list(self.words),
            "pattern": dict(self.pattern) if isinstance(self.pattern, Mapping) else self.pattern,
            "report": self.report,
        }

    def _check_template(self) -> None:
        if not self.words or not all(isinstance(word, str) for word in self.words):
            raise ValueError(f"template: expected a program and its arguments as text, got {self.template!r}")
        for word in self.words:
            if word in shell.OPERATORS:
                advice = shell.ADVICE.format("x")
                raise ValueError(f"template: expected one program, got {word!r}, which is for a shell: use {advice}")
        self._check_places()
        self._check_shells()
        rng, members = np.random.default_rng(0), zip(self.space.names or (), self.space.members, strict=True)
        point = {name: member.decode(member.sample(1, rng)[0]) for name, member in members}
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
        """Refuse a text that a shell could obey wherever a shell may read it."""
        members = dict(zip(self.space.names or (), self.space.members, strict=True))
        read, joined = shell.programs(self.words), shell.joined(self.words)
        for word in self.words:
            parts, reads = _parts(word), word in read or word in joined
            for text, name, spec in parts:
                bad = None if name not in members else _obeyed(members[name], spec)
                if bad is None or (not reads and _alone(text, parts)):
                    continue
                expected = "where no shell reads it" if reads else "as a word of its own, or behind an option's ="
                cure = "a script that quotes it" if word in joined else shell.ADVICE.format(name)
                raise ValueError(
                    f"template: expected {name!r} {expected}, since it may be {shortened(bad)!r}, got {{{name}}} in "
                    f"{word!r}, which a shell {'reads' if reads else 'may read'} as commands: use {cure}"
                )


def _written(value: Any) -> Any:
    """Return a value as text: the items of a permutation have commas between."""
    if isinstance(value, (tuple, list)):
        return ",".join(str(_written(item)) for item in value)
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else value


def _obeyed(member: Any, spec: str) -> str | None:
    """Return a value of a parameter that a shell would not read as a plain word; None where there is none."""
    options: Sequence[Any] = getattr(member, "options", getattr(member, "items", ()))
    texts = [str(_written(option)) for option in options]
    if spec.endswith("c"):
        return "any character"
    return next((text for text in texts if not shell.is_plain(text)), None)


def _alone(text: str, parts: Sequence[Any]) -> bool:
    """Return whether a parameter is all of its word, or follows the `=` of an option."""
    return len(parts) == 1 and (not text or shell.OPTION.fullmatch(text) is not None)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word.strip("-") != "" and "{" not in word


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
        if not isinstance(member, (Float, Int, Bool, Choice, Permutation)):
            got = type(member).__name__
            raise ValueError(
                f"space: expected {name!r} as a single value (Float, Int, Bool or Choice) or a Permutation, got {got}"
            )
        if name == SEED:
            raise ValueError("space: expected no parameter called 'seed', which is each trial's own: rename it")


def _check_patterns(given: Any, names: Sequence[str]) -> None:
    """Raise ValueError for a pattern that cannot be read, or belongs to no name."""
    patterns = given if isinstance(given, Mapping) else {} if given is None else {"": given}
    if isinstance(given, str) and len(names) > 1:
        raise ValueError(f"pattern: expected one by name for any of {', '.join(names)}, got {given!r}: NAME=REGEX")
    for name, pattern in patterns.items():
        if name and name not in names:
            raise ValueError(f"pattern: expected a name of {', '.join(names) or 'an objective'}, got {name!r}")
        _check_pattern(pattern)


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
