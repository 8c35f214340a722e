"""The argument parser of `lamcts`: mistakes are one line, and options come from the signature of an objective."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, get_args, get_origin

from lamcts import objectives
from lamcts.cli.console import complain
from lamcts.objectives.base import Setting
from lamcts.types import Json
from lamcts.utils.argument_hints import OURS
from lamcts.utils.removed import hint as removed

USER_MISTAKE = 2  # argparse's exit code
UNKNOWN = "unrecognized arguments:"
TYPED = {"objectives": "--objective", "constraints": "--constraint"}  # options that are not named like what they set
SETTING = "setting "  # before the name of a setting in the namespace: none collides with a name of our own
NAME = "the command"  # entries of the namespace that no option has, since no option has spaces
MODULE = "the module of the command"
OPTIONS = "the options of the command"


class Parser(argparse.ArgumentParser):
    """argparse's parser, with one-line errors that suggest a cure."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)
        self.takes: str | None = None  # a sentence on the options of the chosen objective
        self.objective = ""  # the chosen one
        self.command: Parser | None = None  # the chosen command, of the parser of the whole command line

    def error(self, message: str) -> NoReturn:
        """Print the mistake as one line and exit."""
        if self.command is not None:  # argparse leaves unrecognized arguments to the parser of the whole command line
            self.command.error(message)
        words = [word.partition("=")[0].strip("-").replace("-", "_") for word in message.split()]
        ours = [f"--{OURS[word]}".replace("_", "-") for word in words[2:] if word in OURS]
        hints = [f"did you mean {ours[0]}?"] if ours else [self.takes] if self.takes else []
        gone = [removed(self.objective, word.partition("=")[0]) for word in message.split()]
        hints = [f"{text[2:]};" for text in gone if text][:1] or hints
        hint = "".join(f"{each} " for each in hints if message.startswith(UNKNOWN))
        complain(self.prog, f"{message} ({hint}see {self.prog} --help)")
        sys.exit(USER_MISTAKE)

    def value_in(self, argv: Sequence[str], option: str) -> str | None:
        """Return the value of an option on a command line that is not parsed yet, or None."""
        for i, word in enumerate(argv):
            if word == option:
                return argv[i + 1] if i + 1 < len(argv) else None
            if word.startswith(f"{option}="):
                return word.partition("=")[2]
        return None

    def positionals_in(self, argv: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the positional words of a command line that is not parsed yet, and those that may be positional.

        The latter follow an option that is not known yet: they are its value, or positional if it is a flag.
        """
        found: tuple[list[str], list[str]] = ([], [])
        before: str | None = None
        for word in argv:
            if word.startswith("-") and word != "-":
                before = None if "=" in word else word
                continue
            action = self._option_string_actions.get(before) if before else None
            if action is None or action.nargs is not None:  # not the value of a known option
                found[before is not None and action is None].append(word)
            before = None
        return found

    def add_settings(self, row: objectives.Entry, but: Sequence[str] = ()) -> None:
        """Add an option for each setting of an objective, but for those whose names the command uses itself."""
        group = self.add_argument_group(f"settings of {row.name}")
        for setting in row.parameters.values():
            if setting.name not in (*TYPED, *but):  # TYPED: options of every objective
                add_setting(group, setting)
        options = ", ".join(map(option, row.parameters)) or "no settings"
        self.takes, self.objective = f"{row.name} takes {options};", row.name


def add_setting(group: argparse._ArgumentGroup, setting: Setting) -> None:
    """Add the option of a setting, with its type, default and description; ValueError where its name is taken."""
    default = "" if setting.default is None or setting.required else f" (default: {setting.default})"
    text = f"{setting.text}{default}".strip().replace("%", "%%")
    how: Json = {"action": argparse.BooleanOptionalAction}
    if bool not in setting.kinds:
        how = {"type": _reader(setting.kinds), "metavar": _metavar(setting)}
    try:
        group.add_argument(
            option(setting.name), dest=SETTING + setting.name, required=setting.required, help=text, **how
        )
    except argparse.ArgumentError:
        raise ValueError(
            f"expected settings whose names lamcts does not use itself, got {setting.name!r}: rename it"
        ) from None


def option(name: str) -> str:
    """Return the option that sets a setting."""
    return TYPED.get(name, f"--{name.replace('_', '-')}")


def name_of(args: argparse.Namespace) -> str:
    """Return the command that was typed, as messages name it."""
    return f"lamcts {getattr(args, NAME)}"


def settings_in(args: argparse.Namespace, row: objectives.Entry) -> Json:
    """Return the settings of an objective that were typed."""
    typed = {name: getattr(args, name if name in TYPED else SETTING + name, None) for name in row.parameters}
    return {name: value for name, value in typed.items() if value is not None}


def _metavar(setting: Setting) -> str:
    names = {int: "N", float: "X", str: "TEXT"}
    if setting.is_path:
        return "FILE"
    return "|".join(name for kind, name in names.items() if kind in setting.kinds) or "VALUE"


def _reader(kinds: Sequence[Any]) -> Callable[[str], Any]:
    """Return a function that converts a text to the first of some types that it fits."""

    def read(text: str) -> Any:
        for kind in kinds:
            try:
                return _convert(text, kind)
            except (ValueError, TypeError):
                continue
        if not kinds or any(kind is str for kind in kinds):
            return text
        raise argparse.ArgumentTypeError(f"expected {' or '.join(dict.fromkeys(map(_word, kinds)))}, got {text!r}")

    return read


def _convert(text: str, kind: Any) -> Any:
    """Return the value that a text has as one of a type; ValueError or TypeError where it has none."""
    origin = get_origin(kind) or kind
    if not isinstance(kind, type) and get_origin(kind) is None:  # a value of a `Literal`
        if text == str(kind):
            return kind
    elif origin in (int, float):
        return origin(text)
    elif issubclass(origin, Mapping):
        if isinstance(held := json.loads(text), dict):
            return held
    elif issubclass(origin, Sequence) and origin is not str:
        inner = [each for each in get_args(kind) if each is not ...]
        parts = [part.strip() for part in text.split(",")]
        return parts if inner == [str] else [_convert(part, inner[0] if inner else float) for part in parts]
    raise ValueError(text)


def _word(kind: Any) -> str:
    names = {int: "a whole number", float: "a number"}
    if not isinstance(kind, type) and get_origin(kind) is None:
        return repr(kind)
    if issubclass(get_origin(kind) or kind, Mapping):
        return "a JSON object"
    return names.get(kind, "numbers separated by commas")
