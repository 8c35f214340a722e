"""What the tests of the coordinate search share: spaces, losses, and what moved in the points that are out."""

import math

import numpy as np

from lamcts.outcomes.observations import Floats
from lamcts.samplers.coordinate import PATTERN
from lamcts.spaces import Bool, Box, Choice, Float, Int, Space
from lamcts.testing.search import Search, bowl

CUBE = Box(0.0, 1.0, dim=4)
MIXED = Space(
    {
        "rate": Float(0.0, 1.0),
        "layers": Int(1, 9),
        "kind": Choice(("a", "b", "c", "d")),
        "skip": Bool(),
        "size": Float(0.0, 1.0),
        "width": Int(1, 1000, log=True),
    }
)
DISCRETE = Space(
    {
        **{f"number {i}": Int(0, 20) for i in range(4)},
        **{f"option {i}": Choice(tuple("abcde")) for i in range(4)},
        **{f"flag {i}": Bool() for i in range(4)},
    }
)


def best(search: Search) -> float:
    return float(np.nanmin(search.seen.y))


def rippled(x: Floats) -> float:
    """Return a sum of bowls with some six ripples each, lowest (0) where all of x is 0.3."""
    return bowl(x) + 0.1 * float(np.sum(1 - np.cos(40 * (x - 0.3))))


def failing(x: Floats) -> float:
    return math.nan if x[0] > 0.7 or x[1] < 0.2 else rippled(x)


def mixed(x: Floats) -> float:
    p = MIXED.decode(x)
    numbers = (p["rate"] - 0.3) ** 2 + abs(p["layers"] - 7) / 8 + (p["size"] - 0.8) ** 2
    return float(numbers + 0.2 * abs(math.log(p["width"] / 50)) + (p["kind"] != "c") + (not p["skip"]))


def discrete(x: Floats) -> float:
    p = DISCRETE.decode(x)
    numbers = sum((p[f"number {i}"] - 3 * i - 2) ** 2 for i in range(4)) / 50
    options = sum(abs("abcde".index(p[f"option {i}"]) - i) for i in range(4))
    return float(numbers + options + sum(p[f"flag {i}"] != (i % 2 == 0) for i in range(4)))


def moves(search: Search) -> list[int]:
    """Return the parameter of each point out, in the order of the trials: PATTERN for several, DRAWN for none."""
    return [parameter for _, parameter, _ in search.out.values()]


def points(search: Search, numbers: list[int]) -> Floats:
    return np.array([search.seen.pending[number] for number in numbers])


def until_together(search: Search, batch: int = 3) -> int:
    """Ask and tell until several parameters are moved in one point; return its trial, all others told."""
    for _ in range(60):
        numbers = search.ask(batch)
        kinds = dict(zip(numbers, moves(search), strict=True))
        search.tell([number for number in numbers if kinds[number] != PATTERN])
        for number in numbers:
            if kinds[number] == PATTERN:
                return number
    raise AssertionError("no parameters were moved together")


def play(search: Search, batch: int) -> list[int]:
    """Ask, tell, and return the moves of what was asked."""
    numbers = search.ask(batch)
    kinds = moves(search)
    search.tell(numbers)
    return kinds
