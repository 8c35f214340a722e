"""Read the number, or the numbers by name, that a program printed."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lamcts.objectives.programs.matching import Matcher
from lamcts.text import SHOWN

# not glued to letters or other digits: no number in "v2", "3.2s", "1.2.3" or "run-3"; and one way only to match some
# digits, or a long line of them would take a time that grows with its square
NUMBER = re.compile(
    r"(?<![\w.+-])[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)(?![\w]|\.\w)", re.IGNORECASE
)


def number(output: str, pattern: str | None, matcher: Matcher) -> float:
    """Return the number that a pattern finds, or the last on the last line; ValueError if there is none."""
    if pattern is not None:
        text, wanted = _last(pattern, output, matcher), f"a match of {pattern!r} in the output"
    else:
        text, wanted = (NUMBER.findall(_last_line(output)) or [None])[-1], "a number on the last line of the output"
    try:
        return float(text or "")
    except ValueError:
        got = text[:SHOWN] if text else output.strip()[-SHOWN:]
        raise ValueError(f"expected {wanted}, got {got!r}") from None


def numbers(
    output: str, names: Sequence[str], patterns: Mapping[str, str], matcher: Matcher
) -> dict[str, float | None]:
    """Return a number for each name: by its pattern, else of the JSON object that was printed, where null is None.

    ValueError names the first that is missing.
    """
    found = {name: number(output, pattern, matcher) for name, pattern in patterns.items()}
    rest = [name for name in names if name not in found]
    held = _object(output, rest) if rest else {}
    for name in rest:
        if name not in held or not isinstance(held[name], (int, float, type(None))):
            got = f"an object of {', '.join(held)}" if name not in held else repr(held[name])[:SHOWN]
            raise ValueError(f"expected a number for {name!r} in the JSON object that it prints, got {got}")
    return {name: found[name] if name in found else _float(held[name]) for name in names}


def is_object(output: str) -> bool:
    """Return whether the last line is a JSON object."""
    return isinstance(_json(_last_line(output)), dict)


def _object(output: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON object on the last line, or the one that the whole output is."""
    for text in (_last_line(output), output):
        if isinstance(found := _json(text), dict):
            return found
    example = json.dumps(dict.fromkeys(names, 0.5))
    raise ValueError(f"expected a JSON object such as {example} on the last line, got {output.strip()[-SHOWN:]!r}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _last(pattern: str, output: str, matcher: Matcher) -> str | None:
    """Return the last match of a pattern: its group, or all of it where it has none."""
    (found,) = matcher.matches(pattern, [min(1, re.compile(pattern).groups)], [output], most=1)
    return found[-1][0] if found else None


def _last_line(output: str) -> str:
    return next((line for line in reversed(output.splitlines()) if line.strip()), "")
