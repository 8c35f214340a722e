"""Parameters as they are written on the command line, or in a file of them, made into a space.

    lr=1e-5:1e-1:log            the settings low and high of a `Float`, and log=True
    units=32:256:int:step=32    another kind by its name, and a setting by its name
    act=relu,gelu               the options of a `Choice`; numbers if all of them are, else texts
    pick=a,b,c,d:subset=2       items, and the setting k behind the name of the kind

A .toml or .json file holds the same, NAME = "RANGE", or NAME = [option, option, ...] with texts, numbers, booleans and
null. A parameter that is there only where others have certain values is a table there:

    momentum = {range = "0:0.99", when = {solver = ["sgd", "nag"]}}

A .json file that ConfigSpace wrote is read by ConfigSpace. FILE.py:NAME is a space that Python makes.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any

from lamcts.objectives.programs.function import value_named
from lamcts.optimizer.arguments import checked_space
from lamcts.optimizer.columns import members_of
from lamcts.spaces import Box, Choice, Float, Space
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.conditions import under
from lamcts.spaces.fixed import bare, keys_of
from lamcts.spaces.kinds import find
from lamcts.spaces.values import brief, read_when
from lamcts.study.known.rows import value_of
from lamcts.types import Json, Point
from lamcts.utils.files import text_of

RANGES = "LOW:HIGH, LOW:HIGH:log, LOW:HIGH:int, LOW:HIGH:step=STEP, A,B,C or bool (write constants out)"
OPTIONS = "A,B,C or A,B,C:ordered, options without ':' (write them as a list in a --space file)"
FORM = 'write NAME = "LOW:HIGH" or NAME = [OPTION, ...] for each parameter; files of other programs have other forms'


def space_of(params: Sequence[str], space: str | None, dim: int | None = None) -> SearchSpace | None:
    """Return the space of `--param` (NAME=RANGE), `--space` (a file, LOW:HIGH or FILE.py:NAME) and `--dim`, or None."""
    own = is_named(space)
    if space is not None and not space.endswith((".json", ".toml")):
        if params:
            got = "FILE.py:NAME" if own else "LOW:HIGH"
            raise ValueError(
                f"--space: expected a .json or .toml file next to --param, got {got}: use one or the other"
            )
        if not own:
            return _box(space, dim)
    if dim is not None:
        raise ValueError(f"--dim: expected only with --space=LOW:HIGH, got {dim}: leave it out")
    if own:
        return checked_space(value_named("--space", str(space)))
    held = {} if space is None else _read(Path(space))
    if isinstance(held.get("hyperparameters"), list):
        if params:
            raise ValueError("--param: expected none next to a file of ConfigSpace, got some; add them to the file")
        return _of_configspace(held)
    pairs = [*held.items(), *map(_pair, params)]
    members: dict[str, SearchSpace] = {}
    for name, written in pairs:
        if not name or not name.isprintable() or name.strip() != name:
            raise ValueError(f"expected the name of a parameter, such as 'learning rate', got {name!r}")
        if name in members:
            raise ValueError(f"expected each parameter once, got {name!r} twice: drop one")
        try:
            members[name] = _member(written)
        except ValueError as error:
            raise ValueError(f"parameter {name!r}: {error}") from None
    return Space(members) if pairs else None


def is_named(space: str | None) -> bool:
    """Return whether `--space` is FILE.py:NAME."""
    return space is not None and space.rpartition(":")[0].endswith(".py")


def _member(written: object) -> SearchSpace:
    """Return the space of an entry of a file."""
    if not isinstance(written, dict):
        return _range(written)
    if set(written) != {"range", "when"}:
        names = brief(list(written))
        raise ValueError(f"expected a table with 'range' and 'when', got one with {names}; {FORM}")
    if isinstance(when := written["when"], dict):
        when = {name: _options(values if isinstance(values, list) else [values]) for name, values in when.items()}
    made: SearchSpace = under(_range(written["range"]), read_when(when))
    return made


def _range(written: object) -> SearchSpace:
    return Choice(_options(written)) if isinstance(written, list) else member_of(written)


def _options(given: list[object]) -> tuple[object, ...]:
    """Return options of a file; ValueError for a list or a table, which other programs have there."""
    for option in given:
        if not isinstance(option, (str, int, float, type(None))):
            raise ValueError(f"expected options that are texts, numbers, booleans or null, got {brief(option)}; {FORM}")
    return tuple(given)


def member_of(written: object) -> SearchSpace:
    """Return the space of a text such as "1e-5:1e-1:log": settings in order, the name of a kind, names of flags."""
    if not isinstance(written, str):
        raise ValueError(f"expected text such as '0:1' or a list of options, got {brief(written)}")
    kind: Any = Choice if "," in written else Float
    parts, expected = list[str](), OPTIONS if "," in written else RANGES
    for part in map(str.strip, written.strip().split(":")):
        name, equals, value = part.partition("=")
        named: Any = find(name)
        if is_dataclass(named):
            kind, expected = named, f"the settings of {name}: {', '.join(own.name for own in _settings(named)) or None}"
            parts += [value] * bool(equals)
        else:
            parts.append(part)
    settings = {own.name: own for own in _settings(kind)}
    in_order = [name for name, own in settings.items() if not (isinstance(own.default, bool) or own.kw_only)]
    given: dict[str, Any] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if name not in settings or bool(equals) == isinstance(settings[name].default, bool):  # no flag, no NAME=VALUE
            name, value = next((own for own in in_order if own not in given), ""), part
        if not name or name in given:
            raise ValueError(f"expected {expected}, got {written!r}")
        given[name] = isinstance(settings[name].default, bool) or _value(value)
    if missing := [name for name, own in settings.items() if own.default is MISSING and name not in given]:
        raise ValueError(f"expected {expected}, got {written!r} without {missing[0]}")
    made: SearchSpace = kind(**given)
    return made


def _settings(kind: Any) -> list[Field[Any]]:
    return [own for own in fields(kind) if own.init and own.name != "when"]


def _value(text: str) -> Any:
    """Return a number, or a list of options: numbers if all of them are, else texts."""
    options = [option.strip() for option in text.split(",")]
    numbers = [*map(_number, options)]
    if len(options) == 1 and None in numbers:
        raise ValueError(f"expected a number, or options A,B,C, got {text!r}")
    if not options[-1]:
        raise ValueError(f"expected an option after the last comma, got {text!r}; put an empty option first: ',A'")
    return numbers[0] if len(options) == 1 else options if None in numbers else numbers


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _pair(text: str) -> tuple[str, str]:
    name, equals, written = text.partition("=")
    if not equals:
        raise ValueError(f"--param: expected NAME=RANGE, such as lr=1e-5:1e-1:log, got {text!r}")
    return name.strip(), written


def _of_configspace(held: Json) -> SearchSpace:
    """Return the space of what ConfigSpace wrote."""
    try:
        from ConfigSpace import ConfigurationSpace
    except ImportError:
        raise ValueError("--space: reading a file of ConfigSpace needs it: pip install ConfigSpace") from None
    from lamcts.integrations import configspace

    try:
        return configspace.space_of(ConfigurationSpace.from_serialized_dict(held))
    except Exception as error:  # whatever ConfigSpace raises on a file that it did not write
        raise ValueError(f"--space: expected a file that ConfigSpace wrote, got another: {error}") from None


def _read(path: Path) -> Json:
    text = text_of(path, "--space: the file")
    try:
        held = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:  # both libraries' own errors are ValueErrors
        raise ValueError(f"--space: expected {path.suffix[1:].upper()}, got {path}, which is not: {error}") from None
    if not isinstance(held, dict):
        raise ValueError(f"--space: expected NAME: RANGE pairs in {path}, got {type(held).__name__}")
    return held


def _once(pairs: list[tuple[str, object]]) -> Json:
    """Return pairs as a dict; ValueError for a name that occurs twice."""
    if twice := [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]:
        raise ValueError(f"expected each name once, got {twice[0]!r} twice")
    return dict(pairs)


def _box(text: str, dim: int | None) -> Box:
    low, _, high = text.partition(":")
    bounds = (_number(low), _number(high))
    if None in bounds:
        raise ValueError(f"--space: expected a .json or .toml file, FILE.py:NAME, or LOW:HIGH with --dim, got {text!r}")
    if dim is None:
        raise ValueError(f"--space: expected --dim, the number of coordinates, with {text!r}, got none: add --dim 20")
    return Box(*bounds, dim=dim)  # type: ignore[arg-type]


def fixed_of(given: Sequence[str] | None, space: SearchSpace) -> dict[Any, Point] | None:
    """Return the fixed parameters of `--fix` (each NAME=VALUE; x1, x2, ... of an array), or None."""
    if not given:
        return None
    members, found = members_of(space), {}
    keys = dict(zip(members, keys_of(bare(space)), strict=True))
    for text in given:
        name, equals, written = text.partition("=")
        if not equals:
            raise ValueError(f"--fix: expected NAME=VALUE, such as lr=0.1, got {text!r}")
        if name not in members:
            raise ValueError(f"--fix: expected a name out of {', '.join(members)}, got {name!r}")
        found[keys[name]] = value_of(written, members[name])
    return found
