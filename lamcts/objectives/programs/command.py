"""Any program that prints numbers, as an objective: `Command("./train --lr {lr} --layers {layers}", space)`."""

import hashlib
import json
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from lamcts.objectives.programs.process import Reporting, Watch, check_report, last_words, run
from lamcts.objectives.programs.template import FOLDER, SEED, Deck, Template, check_once
from lamcts.outcomes.goals import ConstraintsLike, Goals, ObjectivesLike, ReferenceLike
from lamcts.outcomes.metrics import Metric
from lamcts.rng import fresh_seed
from lamcts.spaces.base import EncodedSpace, SearchSpace
from lamcts.spaces.product import Space
from lamcts.text import SHOWN
from lamcts.types import Json

# not glued to letters or other digits: no number in "v2", "3.2s", "1.2.3" or "run-3"; and one way only to match some
# digits, or a long line of them would take a time that grows with its square
NUMBER = re.compile(
    r"(?<![\w.+-])[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)(?![\w]|\.\w)", re.IGNORECASE
)
OBJECT = re.compile(r"^\{|\{\s*[\"']")  # how a JSON object, or a dict of Python, begins
CLOSING = re.compile(r"[\s)\]%\"']*")  # what may follow the number of a line that no newline ends


@dataclass(frozen=True, eq=False)
class Command:
    """The number, or the numbers by name, that a program prints for the parameters in its arguments.

    Parameters
    ----------
    template : str or sequence of str
        The program and its arguments (template files are `inputs`), split into words as by a shell, which is not
        started. Every parameter needs its `{name}`; `{name:.3g}` formats it, and `{{` `}}` are braces. `{seed}` is an
        integer that differs between trials, `{folder}` the point's folder for checkpoints. Items and amounts have
        commas between. An inactive parameter is removed with its word and an option before it. Texts that a shell could
        obey must be words of their own, or follow the `=` of an option, and are refused where a shell is known to read
        them.
    space : Space
        A `Space` with names, of kinds of parameters that have a text on the command line.
    timeout_seconds : float or None, default None
        Time after which the program and its child processes are killed; None: never.
    maximize : bool, default False
        Whether higher numbers are better.
    pattern : str, mapping of str to str or None, default None
        A regular expression. The value is its last match in the output: its group, or all of it if it has none. With
        several names, a regular expression for each name. None: the last number on the last line that is not empty.
    report : str or None, default None
        A regular expression for intermediate values, with groups called step and value, or two groups. It is matched
        with each line as it comes, and `pruner` of `minimize` may end the program. None: no intermediate values. With
        several objectives each has a group after the step, under its name or in order.
    x0 : dict or None, default None
        A point to start from.
    inputs : mapping of str to str or None, default None
        Input decks: template files, and their names in the point's folder, in which the program then starts. `{name}`,
        `{seed}` and `{folder}` in a template are places as in the words; all other braces stay as they are.
    objectives, constraints, reference : default None
        As in `Optimizer`; None: one number. Otherwise the last line of the output, or all of it, is a JSON object with
        a number for each objective and each constrained quantity that no pattern finds. Null for all objectives means
        that the point was checked and not run. Other numbers and texts of the object are metrics.

    Notes
    -----
    A time-out, a non-zero exit status (the error has the last lines of the error stream, or else of the output), no
    number, and more than 64 MiB of output raise: the evaluation fails. So do a
    last line that may be cut off (a part of a JSON object, or no newline after text that follows the number), and
    regular expressions that take longer than the time-out, at least 1 and at most 10 seconds.
    """

    template: str | Sequence[str]
    space: Space
    timeout_seconds: float | None = None
    maximize: bool = False
    pattern: str | Mapping[str, str] | None = None
    x0: Mapping[str, object] | None = None
    objectives: ObjectivesLike = None
    constraints: ConstraintsLike = None
    reference: ReferenceLike = None
    report: str | None = None
    inputs: Mapping[str, str] | None = None

    optimum = None

    def __post_init__(self) -> None:
        members = _members(self.space)
        check_once([deck.file for deck in self._decks])
        in_decks = {place[1] for deck in self._decks for place in deck.places(members)}
        self._template.check(members, in_decks)
        for deck in self._decks:
            deck.check(members)
        if self.timeout_seconds is not None and not 0 < self.timeout_seconds < float("inf"):
            raise ValueError(f"timeout_seconds: expected a number above 0 or None, got {self.timeout_seconds!r}")
        _check_patterns(self.pattern, self.names)
        check_report(self.report, Goals.of(self.maximize, self.objectives).names)

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
    def _template(self) -> Template:
        return Template.of(self.template)

    @cached_property
    def _decks(self) -> list[Deck]:
        return [Deck.read(path, file) for path, file in (self.inputs or {}).items()]

    @property
    def words(self) -> tuple[str, ...]:
        """The template, word by word."""
        return self._template.words

    def arguments(self, point: Mapping[str, object], seed: int, folder: str = "") -> list[str]:
        """Return the words of the program's call at `point`."""
        return self._template.arguments(point, seed, folder)

    @property
    def reports(self) -> bool:
        """Whether it may report intermediate values."""
        return self.report is not None

    def __call__(
        self, point: Mapping[str, object], *, seed: int | None = None, trial: Reporting | None = None
    ) -> float | dict[str, Metric]:
        names = Goals.of(self.maximize, self.objectives).names
        watch = None if self.report is None or trial is None else Watch(self.report, trial, names)
        seed = fresh_seed() if seed is None else seed
        if not (self._template.takes_folder or self._decks):
            return self._ran(point, seed, "", watch)
        if trial is not None:
            return self._ran(point, seed, str(trial.folder), watch)
        with TemporaryDirectory() as folder:
            return self._ran(point, seed, folder, watch)

    def _ran(
        self, point: Mapping[str, object], seed: int, folder: str, watch: Watch | None
    ) -> float | dict[str, Metric]:
        """Run the program, and return what it printed."""
        words = self.arguments(point, seed, folder)
        for deck in self._decks:
            text = deck.written(point, map(str, self.space.names or ()), seed, folder)
            (Path(folder) / deck.file).write_text(text, encoding="utf-8")
        if self._decks and (program := shutil.which(words[0])) is not None:  # by its place seen from here
            words[0] = str(Path(program).absolute())
        ended = run(words, self.timeout_seconds, watch, folder if self._decks else None)
        if ended.status:
            raise RuntimeError(f"{_how(ended.status)}{last_words(ended.errors) or last_words(ended.output)}")
        return self.read(ended.output)

    def read(self, output: str) -> float | dict[str, Metric]:
        """Return the value in a program's output, or numbers and metrics by name; ValueError if there is none."""
        patterns = self.pattern if isinstance(self.pattern, Mapping) else {}
        if len(self.names) > 1 or patterns or (self.names and self.pattern is None and _has_object(output)):
            numbers = _numbers(output, self.names, patterns)
            printed = _printed_object(output) or {}
            taken = {"", *self.names, *map(str, self.space.names or ())}
            others = {name: each for name, each in printed.items() if name not in taken}
            return {name: each for name, each in others.items() if isinstance(each, (str, int, float))} | numbers
        if self.pattern is None:
            _refuse_object(output)
            _refuse_part(output, *self.names)
        return _number(output, self.pattern if isinstance(self.pattern, str) else None)

    def fingerprint(self) -> Json:
        return {
            "command": list(self.words),
            "pattern": dict(self.pattern) if isinstance(self.pattern, Mapping) else self.pattern,
            "report": self.report,
        } | ({"inputs": {deck.file: deck.text for deck in self._decks}} if self._decks else {})

    def sources(self) -> list[bytes]:
        """Return checksums of the program and of the files among its arguments, which the fingerprint does not have."""
        paths = [Path(shutil.which(self.words[0]) or ""), *map(Path, self.words[1:])]
        return [hashlib.sha256(path.read_bytes()).digest() for path in paths if path.is_file()]


def _members(space: object) -> dict[str, SearchSpace]:
    """Return the parameters of a space by name; ValueError for one that no template can write."""
    if not isinstance(space, Space) or space.names is None:
        got = type(space).__name__
        raise ValueError(f"space: expected a Space with names, such as Space({{'lr': Float(0, 1)}}), got {got}")
    members = {str(name): member for name, member in zip(space.names, space.members, strict=True)}
    for name, member in members.items():
        if not (isinstance(member, EncodedSpace) and is_dataclass(member)):
            kinds = "a parameter that the command line can have, such as Float, Choice or Subset"
            raise ValueError(f"space: expected {name!r} as {kinds}, got {type(member).__name__}")
    for name in (SEED, FOLDER):
        if name in members:
            raise ValueError(f"space: expected no parameter called {name!r}, which is each trial's own: rename it")
    return members


def _check_patterns(given: str | Mapping[str, str] | None, names: Sequence[str]) -> None:
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


# What a program printed -----------------------------------------------------------------------------------------------


def _number(output: str, pattern: str | None) -> float:
    """Return the number that a pattern finds, or the last on the last line; ValueError if there is none."""
    if pattern is not None:
        text, wanted = _last(pattern, output), f"a match of {pattern!r} in the output"
    else:
        text, wanted = (NUMBER.findall(_last_line(output)) or [None])[-1], "a number on the last line of the output"
    try:
        if text and text.endswith(".") and output.endswith(text):  # "1." of "1.25": no newline follows
            raise ValueError
        return float(text or "")
    except ValueError:
        got = text[:SHOWN] if text else output.strip()[-SHOWN:]
        raise ValueError(f"expected {wanted}, got {got!r}") from None


def _numbers(output: str, names: Sequence[str], patterns: Mapping[str, str]) -> dict[str, float | None]:
    """Return a number for each name: by its pattern, else of the printed JSON object."""
    found = {name: _number(output, pattern) for name, pattern in patterns.items()}
    rest = [name for name in names if name not in found]
    held = _object(output, rest) if rest else {}
    for name in rest:
        if name not in held or not isinstance(held[name], (int, float, type(None))):
            got = f"an object of {', '.join(held)}" if name not in held else repr(held[name])[:SHOWN]
            raise ValueError(f"expected a number for {name!r} in the JSON object that it prints, got {got}")
    return {name: found[name] if name in found else None if held[name] is None else float(held[name]) for name in names}


def _has_object(output: str) -> bool:
    """Return whether the output is a JSON object, or a line of it is and the last line is no number alone."""
    if _printed_object(output) is not None:
        return True
    lines = (line for line in output.splitlines() if line.startswith("{"))
    return not NUMBER.fullmatch(_last_line(output).strip()) and any(isinstance(_json(line), dict) for line in lines)


def _refuse_object(output: str) -> None:
    """Raise ValueError for a JSON object where no objective is named: its last number may be any."""
    if (held := _printed_object(output)) is not None:
        name = next(iter(held), "loss")[:SHOWN]
        raise ValueError(
            f"expected a number, got a JSON object of {', '.join(held)[:SHOWN] or 'nothing'}: name the objective, "
            f"such as objectives=[{name!r}] (--objective {name}), or give a pattern"
        )


def _refuse_part(output: str, name: str | None = None) -> None:
    """Raise ValueError where the last line may be cut off, or its last number is another's than that of `name`."""
    line = _last_line(output).strip()
    found = [*NUMBER.finditer(line)]
    begun = re.search(r"^\s*\{", output, re.MULTILINE)
    rest = output[begun.start() :] if begun else line
    cut = line[found[-1].end() :] if found else ""
    keyed = None if name is None else [*re.finditer(rf"(?<!\w){re.escape(name)}[\"']?\s*[:=]\s*", line)]
    if OBJECT.search(line) or rest.count("{") > rest.count("}"):
        wanted = "a JSON object or a number"
    elif found and not output.endswith(("\n", "\r")) and not CLOSING.fullmatch(cut):
        wanted = "a last line that ends in its number or with a newline"
    elif keyed and [each.start() for each in found if each.start() >= keyed[-1].end()] != [keyed[-1].end()]:
        wanted = f"one number behind {name!r}"
    else:
        return
    raise ValueError(f"expected {wanted}, got {line[-SHOWN:]!r}: print all of it, or give a pattern")


def _object(output: str, names: Sequence[str]) -> Json:
    """Return the JSON object that was printed; ValueError where there is none."""
    if (found := _printed_object(output)) is not None:
        return found
    example = json.dumps(dict.fromkeys(names, 0.5))
    raise ValueError(f"expected a JSON object such as {example} on the last line, got {output.strip()[-SHOWN:]!r}")


def _printed_object(output: str) -> Json | None:
    """Return the JSON object on the last line, or the one that the whole output is; None if there is none."""
    found = (_json(text) for text in (_last_line(output), output))
    return next((each for each in found if isinstance(each, dict)), None)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _last(pattern: str, output: str) -> str | None:
    """Return the last match of a pattern: its group, or all of it where it has none."""
    text: str | None = None
    for match in re.finditer(pattern, output, re.MULTILINE):
        text = match[min(1, match.re.groups)]
    return text


def _last_line(output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if line.strip()), "")
