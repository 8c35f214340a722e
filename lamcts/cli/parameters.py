"""Parameters as they are written on the command line, or in a file of them, made into a space.

    lr=1e-5:1e-1:log   a real number; `log`: equal factors are equally far apart
    drop=0:0.5:step=0.1   0, 0.1, 0.2 and so on
    layers=1:8:int     a whole number, both ends included; `:int:log` too
    units=32:256:int:step=32   32, 64, 96 and so on, whole numbers
    act=relu,gelu      one of these; numbers if all of them are, else texts
    epochs=1:81:fidelity   how much of an evaluation is done, chosen by the run; `:resumes` where trainings go on
    size=32,64,128:ordered   one of these, which are steps from first to last
    flag=bool          true or false
    tour=12:permutation   the numbers 0 to 11 in any order; or a,b,c:permutation
    mix=3:simplex      3 amounts with the sum 1; or flour,sugar,butter:simplex=100, amounts by name with the sum 100
    pick=12:subset=3   3 of the numbers 0 to 11; or a,b,c,d:subset=2

A .toml or .json file holds the same, NAME = "RANGE", or NAME = [option, option, ...] with texts, numbers, booleans and
null. A parameter that is there only where others have certain values is a table there:

    momentum = {range = "0:0.99", when = {solver = ["sgd", "nag"]}}

A .json file that ConfigSpace wrote is read by ConfigSpace.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lamcts.files import text_of
from lamcts.spaces import Bool, Box, Choice, Fidelity, Float, Int, Permutation, Simplex, Space, Subset
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.conditions import under
from lamcts.spaces.fixed import bare, keys_of
from lamcts.spaces.values import brief, read_when
from lamcts.study.prior_table import members_of, value_of
from lamcts.types import Json, Point

NAME = re.compile(r"[A-Za-z_][\w-]*")
JOINT = re.compile(r"(.*):(permutation|simplex|subset)(?:=(.*))?", re.DOTALL)
FORM = 'write NAME = "LOW:HIGH" or NAME = [OPTION, ...] for each parameter; files of other programs have other forms'


def space_of(params: Sequence[str], space: str | None, dim: int | None = None) -> SearchSpace | None:
    """Return the space of `--param` (each NAME=RANGE), `--space` (file or LOW:HIGH) and `--dim`; None without any."""
    if space is not None and not space.endswith((".json", ".toml")):
        if params:
            raise ValueError("--space: expected a file next to --param, got LOW:HIGH: use one or the other")
        return _box(space, dim)
    if dim is not None:
        raise ValueError(f"--dim: expected only with --space=LOW:HIGH, got {dim}: leave it out")
    held = {} if space is None else _read(Path(space))
    if isinstance(held.get("hyperparameters"), list):
        if params:
            raise ValueError("--param: expected none next to a file of ConfigSpace, got some; add them to the file")
        return _of_configspace(held)
    pairs = [*held.items(), *map(_pair, params)]
    members: dict[str, SearchSpace] = {}
    for name, written in pairs:
        if not NAME.fullmatch(name):
            raise ValueError(f"expected the name of a parameter, such as lr, got {name!r}")
        if name in members:
            raise ValueError(f"expected each parameter once, got {name!r} twice: drop one")
        try:
            members[name] = _member(written)
        except ValueError as error:
            raise ValueError(f"parameter {name!r}: {error}") from None
    return Space(members) if pairs else None


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
    """Return the space of a text such as "1e-5:1e-1:log"."""
    if not isinstance(written, str):
        raise ValueError(f"expected text such as '0:1' or a list of options, got {brief(written)}")
    text = written.strip()
    if text == "bool":
        return Bool()
    if (found := JOINT.fullmatch(text)) is not None:
        return _joint(*found.groups())
    if "," in text:
        return _choice(text)
    low, *rest = (part.strip() for part in text.split(":"))
    if not rest:
        raise ValueError(
            "expected LOW:HIGH, LOW:HIGH:log, LOW:HIGH:int, LOW:HIGH:step=STEP, A,B,C or bool, "
            f"got {written!r}; write constants out"
        )
    high, *kinds = rest
    if kinds[:1] == ["fidelity"] and kinds[1:] in ([], ["resumes"]):
        return Fidelity(_bound(low), _bound(high), resumes=len(kinds) > 1)
    words = [kind for kind in kinds if not kind.startswith("step=")]
    steps = [_bound(kind.removeprefix("step=")) for kind in kinds if kind not in words]
    if not set(words) <= {"int", "log"} or len(set(words)) < len(words) or len(steps) > 1:
        raise ValueError(f"expected 'log', 'int', 'step=STEP' or 'fidelity' after LOW:HIGH, got {':'.join(kinds)!r}")
    kind = Int if "int" in words else Float
    return kind(_bound(low), _bound(high), log="log" in words, step=steps[0] if steps else None)


def _joint(text: str, kind: str, number: str | None) -> Permutation | Simplex | Subset:
    """Return a kind that has items: ITEMS:permutation, ITEMS:simplex, ITEMS:simplex=TOTAL or ITEMS:subset=COUNT."""
    items = _choice(text).options if "," in text else _number(text)
    if not isinstance(items, (int, tuple)):
        raise ValueError(f"expected a number of items before :{kind}, or A,B,C, got {text.strip()!r}")
    if kind == "simplex":
        return Simplex(items, _bound("1" if number is None else number))
    if (number is None) == (kind == "subset"):
        raise ValueError(f"expected {'subset=COUNT' if kind == 'subset' else kind}, got {kind}={number or ''}")
    return Permutation(items) if number is None else Subset(items, _bound(number))


def _choice(text: str) -> Choice:
    ordered = text.endswith(":ordered")
    options = [option.strip() for option in text.removesuffix(":ordered").split(",")]
    if not options[-1]:
        raise ValueError(f"expected an option after the last comma, got {text!r}; put an empty option first: ',A'")
    if any(":" in option for option in options):
        raise ValueError(f"expected options without ':', got {text!r}; write them as a list in a --space file")
    numbers = [_number(option) for option in options]
    texts = any(number is None for number in numbers)
    return Choice(tuple(options if texts else numbers), ordered=ordered)


def _bound(text: str) -> Any:
    number = _number(text)
    if number is None:
        raise ValueError(f"expected a number as a bound, got {text!r}")
    return number


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
        raise ValueError(f"--space: expected a .json or .toml file, or LOW:HIGH with --dim, got {text!r}")
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
