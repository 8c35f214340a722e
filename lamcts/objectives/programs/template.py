"""The words of a command: places for values, none of them where a shell would read a value as a program.

No list of programs that start a shell is complete: such a text must be a word of its own or follow the `=` of an
option. Known programs that pass whole words to a shell do not get it either.
"""

import os
import re
import shlex
import string
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from lamcts.spaces.base import SearchSpace, options_of
from lamcts.text import shortened
from lamcts.utils.files import text_of

SEED = "seed"  # the name of the place for a trial's own number
FOLDER = "folder"  # and for the folder of its configuration
LONGEST = 255  # bytes of the name of a file: that of most file systems
ANY_PATH = "a b;c"  # what a shell would read in the path of a folder
OPERATORS = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", "&>"}
SHELLS = {"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh"}
HANDING = {"su", "runuser", "script", "flock"}  # what follows their -c is for a shell, in any position
JOINING = {"ssh", "watch"}  # all their words are joined, and are for a shell
ADVICE = "sh -c 'echo \"$1\" | ...' sh {{{}}}"  # the value is an argument, which the shell does not read
WITH_A_VALUE = {"--rcfile", "--init-file"}  # options of bash whose value is a word of its own
OPTION = re.compile(r"[-+\w./:]+=")  # what may stand before a value in its word
BEHIND = re.compile(r"-[A-Za-z]*c|--(session-)?command")  # a word behind which stand commands
NAME = r"[\w-]+(?: +[\w-]+)*"  # of a parameter in a command
PLACE = re.compile(rf"(?<!\{{)\{{{NAME}(?::[^{{}}]*)?\}}(?!\}})")
WITH_COMMANDS = re.compile(r"--(session-)?command=")
Part = tuple[str, str | None, str]  # a text, and the parameter after it (None: none) with its format


@dataclass(frozen=True)
class Deck:
    """An input deck: a text in which `{name}` is the place of a parameter's value; other braces stay as they are."""

    text: str
    file: str  # its name in the folder of a trial

    @classmethod
    def read(cls, path: str, file: str) -> "Deck":
        """Return the deck of a template file; ValueError where there is none, or the name is no name."""
        if PurePath(file).name != file or file in ("", "..") or "\0" in file or len(os.fsencode(file)) > LONGEST:
            raise ValueError(f"inputs: expected the name of a file in the trial's folder, got {shortened(file)!r}")
        try:
            return cls(text_of(path, "inputs: the template"), file)
        except OSError as error:
            raise ValueError(f"inputs: expected a template file, got {path}: {error.strerror}") from None

    def places(self, names: Iterable[str]) -> list[re.Match[str]]:
        """Return the places of some names."""
        known = "|".join(map(re.escape, names))
        return [*re.finditer(rf"\{{({known})(?::([^{{}}]*))?\}}", self.text)] if known else []

    def check(self, members: Mapping[str, SearchSpace]) -> None:
        """Raise ValueError for formats that do not fit the parameters."""
        for place in self.places([*members, SEED, FOLDER]):
            _check_format(place[1], place[2] or "", members, f"inputs: {self.file}")

    def written(self, point: Mapping[str, object], names: Iterable[str], seed: int, folder: str) -> str:
        """Return the text with the values of a point; an inactive parameter leaves nothing."""
        values = {name: _written(value) for name, value in point.items()} | {SEED: seed, FOLDER: folder}
        text, end = "", 0
        for place in self.places([*names, SEED, FOLDER]):
            value = format(values[place[1]], place[2] or "") if place[1] in values else ""
            text, end = text + self.text[end : place.start()] + value, place.end()
        return text + self.text[end:]


@dataclass(frozen=True)
class Template:
    """The words of a command; `{name}` is the place of a parameter's value."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, given: str | Sequence[str]) -> "Template":
        """Return the template of a text, split as by a shell, or of words; ValueError for anything else."""
        if isinstance(given, str):
            try:
                joined = PLACE.sub(lambda place: place[0].replace(" ", "\0"), given)  # a name may have blanks
                words: Sequence[str] = [word.replace("\0", " ") for word in shlex.split(joined)]
            except ValueError as error:
                cure = "close the quotation"
                raise ValueError(f"template: expected words as in a shell, got {given!r} ({error}): {cure}") from None
        else:
            words = given
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError(f"template: expected a program and its arguments as text, got {given!r}")
        return cls(tuple(words))

    @cached_property
    def parts(self) -> dict[str, list[Part]]:
        """The parts of each word."""
        return {word: _parts(word) for word in self.words}

    @cached_property
    def takes_folder(self) -> bool:
        """Whether a word has a place for the folder of a configuration."""
        return any(name == FOLDER for parts in self.parts.values() for _, name, _ in parts)

    def arguments(self, point: Mapping[str, object], seed: int, folder: str = "") -> list[str]:
        """Return the words with the values of `point`, `seed` and `folder` at their places."""
        values = {name: _written(value) for name, value in point.items()} | {SEED: seed, FOLDER: folder}
        return [
            "".join(text + (format(values[name], spec) if name in values else "") for text, name, spec in parts)
            for parts in map(self.parts.__getitem__, self._present(values))
        ]

    def _present(self, values: Mapping[str, object]) -> list[str]:
        """Return the words without inactive parameters and the options before them (empty in a shell's program)."""
        present: list[str] = []
        programs = _programs(self.words)
        for word in self.words:
            absent = [name for _, name, _ in self.parts[word] if name is not None and name not in values]
            if not absent or word in programs:
                present.append(word)
            elif word.startswith("{") and word.endswith("}") and present[-1:] and _is_option(present[-1]):
                present.pop()
        return present

    def check(self, members: Mapping[str, SearchSpace], elsewhere: Iterable[str] = ()) -> None:
        """Raise ValueError for words that a shell reads, or that lack parameters not named `elsewhere`."""
        for word in self.words:
            if word in OPERATORS:
                advice = ADVICE.format("x")
                raise ValueError(f"template: expected one program, got {word!r}, which is for a shell: use {advice}")
        self._check_places(members, {*elsewhere})
        self._check_shells(members)
        for _, name, spec in (part for parts in self.parts.values() for part in parts):
            if name is not None:
                _check_format(name, spec, members, "template")

    def _check_places(self, names: Iterable[str], elsewhere: Collection[str]) -> None:
        used = [name for parts in self.parts.values() for _, name, _ in parts if name is not None]
        for name in used:
            if name not in (*names, SEED, FOLDER):
                known = ", ".join(f"{{{each}}}" for each in (*names, SEED, FOLDER))
                cure = "name the parameter, or write {{ for a brace"
                raise ValueError(f"template: expected one of {known}, got {{{name}}}: {cure}")
        for name in names:
            if name not in used and name not in elsewhere:
                cure = f"write {{{name}}} into the command, or into a template file, inputs={{'deck.tpl': 'deck.in'}}"
                raise ValueError(f"template: expected a place for every parameter, got none for {name!r}: {cure}")

    def _check_shells(self, members: Mapping[str, SearchSpace]) -> None:
        """Refuse a text that a shell could obey wherever a shell may read it."""
        read, joined = _programs(self.words), _joined(self.words)
        for word, parts in self.parts.items():
            reads = word in read or word in joined
            for text, name, spec in parts:
                bad = _obeyed(members[name], spec) if name is not None and name in members else None
                bad = ANY_PATH if name == FOLDER else bad
                if bad is None or (not reads and _alone(text, parts)):
                    continue
                expected = "where no shell reads it" if reads else "as a word of its own, or behind an option's ="
                cure = "a script that quotes it" if word in joined else ADVICE.format(name)
                raise ValueError(
                    f"template: expected {name!r} {expected}, since it may be {shortened(bad)!r}, got {{{name}}} in "
                    f"{word!r}, which a shell {'reads' if reads else 'may read'} as commands: use {cure}"
                )


def _parts(word: str) -> list[Part]:
    """Return the pieces of a word: texts, and the parameters after them."""
    try:
        pieces = list(string.Formatter().parse(word))
    except ValueError as error:
        raise ValueError(f"template: expected {{name}}, got {word!r} ({error}): write {{{{ }}}} for braces") from None
    for _, name, spec, conversion in pieces:
        if conversion or "{" in (spec or "") or (name is not None and not re.fullmatch(NAME, name)):
            raise ValueError(f"template: expected plain names as in {{lr}} or {{lr:.3g}}, got {word!r}")
    return [(text, name, spec or "") for text, name, spec, _ in pieces]


def _check_format(name: str, spec: str, members: Mapping[str, SearchSpace], where: str) -> None:
    """Raise ValueError for a format that does not fit some values of a parameter."""
    if re.search(r"\d{4}", spec):
        raise ValueError(f"{where}: expected at most 999 characters for a value, got {{{name}:{spec}}}: write less")
    own: dict[str, list[object]] = {SEED: [0, 2**63 - 1], FOLDER: [ANY_PATH]}
    for value in own[name] if name in own else _values(members[name]):
        try:
            format(_written(value), spec).encode()
        except (ValueError, TypeError, OverflowError) as error:
            got = f"{{{name}:{spec}}} for {shortened(str(value))!r}: {error}"
            raise ValueError(f"{where}: expected formats that fit the parameters, got {got}") from None


def _values(member: SearchSpace) -> Iterator[object]:
    """Yield values of a parameter: its options, else its ends and a draw."""
    for option in options_of(member):
        with suppress(ValueError):  # an item of values that hold several
            yield member.decode(member.encode(option))
    drawn = member.sample(1, np.random.default_rng(0))
    yield from map(member.decode, member.snap(np.array([np.zeros(member.dim), np.ones(member.dim), *drawn])))


def check_once(files: Sequence[str]) -> None:
    """Raise ValueError for names of decks that are one file, on systems that ignore case too."""
    folded = [unicodedata.normalize("NFC", file).casefold() for file in files]
    if twice := [file for file, one in zip(files, folded, strict=True) if folded.count(one) > 1]:
        raise ValueError(f"inputs: expected another file name for each deck, got {' and '.join(twice)}: rename one")


def _written(value: object) -> object:
    """Return a value as text: items and amounts have commas between."""
    value = [*value.values()] if isinstance(value, Mapping) else value
    if isinstance(value, (tuple, list)):
        return ",".join(str(_written(item)) for item in value)
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else value


def _is_option(word: str) -> bool:
    return word.startswith("-") and word.strip("-") != "" and "{" not in word


def _obeyed(member: SearchSpace, spec: str) -> str | None:
    """Return a value of a parameter that a shell would not read as a plain word; None where there is none."""
    if spec.endswith("c"):
        return "any character"
    return next((text for text in map(str, map(_written, options_of(member))) if shlex.quote(text) != text), None)


def _alone(text: str, parts: Sequence[Part]) -> bool:
    """Return whether a parameter is all of its word, or follows the `=` of an option."""
    return len(parts) == 1 and (not text or OPTION.fullmatch(text) is not None)


def _programs(words: Sequence[str]) -> list[str]:
    """Return those of `words` that a shell among them reads as a program; it may stand anywhere: `nice bash -c ...`."""
    found = [_program(words[i + 1 :]) for i, word in enumerate(words) if PurePath(word).name in SHELLS]
    handed = [_handed(words[i + 1 :]) for i, word in enumerate(words) if PurePath(word).name in HANDING]
    return [text for text in found if text is not None] + [text for texts in handed for text in texts]


def _joined(words: Sequence[str]) -> Sequence[str]:
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
