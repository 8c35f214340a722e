"""func2C and func3C: two or three categories that choose functions of two reals (Ru et al., CoCaBO, 2020)."""

import math
from collections.abc import Callable

from benchmarks.discrete.discrete_problems.base import Discrete, Point
from lamcts import Choice, Float, Space

REACH = 0.1  # of the range: farther out Rosenbrock's scale would be another
CLOSE = 1e-3  # in the right pit, and near its bottom
CAMEL = 1.0316284534898774  # the depth of the six-hump camel


def rosenbrock(a: float, b: float) -> float:
    return (100 * (b - a * a) ** 2 + (1 - a) ** 2) / 300


def camel(a: float, b: float) -> float:
    return ((4 - 2.1 * a * a + a**4 / 3) * a * a + a * b + 4 * (b * b - 1) * b * b) / 10


def beale(a: float, b: float) -> float:
    return ((1.5 - a + a * b) ** 2 + (2.25 - a + a * b * b) ** 2 + (2.625 - a + a * b**3) ** 2) / 50


Part = Callable[[float, float], float]
# What each category chooses, and the weights of the third: those of the paper.
FIRST: tuple[Part, ...] = (rosenbrock, camel, beale)
SECOND: tuple[Part, ...] = (rosenbrock, camel, beale, beale, beale)
THIRD: tuple[tuple[float, Part], ...] = ((5, camel), (2, rosenbrock), (2, beale), (3, beale), (3, beale))


def func2c() -> Discrete:
    """The sum of what both categories choose; best where both are the camel, in either of its two pits."""
    return _made("func2C", {"a": 3, "b": 5}, lambda a, b, z: FIRST[a](*z) + SECOND[b](*z), 2, {"a": 1, "b": 1})


def func3c() -> Discrete:
    """With a third category that weighs what it chooses: best is five camels beside the two."""

    def value(a: int, b: int, c: int, z: tuple[float, float]) -> float:
        weight, part = THIRD[c]
        return FIRST[a](*z) + SECOND[b](*z) + weight * part(*z)

    return _made("func3C", {"a": 3, "b": 5, "c": 5}, value, 7, {"a": 1, "b": 1, "c": 0})


def _made(name: str, sizes: dict[str, int], value: Callable[..., float], camels: int, best: dict[str, int]) -> Discrete:
    def function(point: Point) -> float:
        z = 2 * point["x"], 2 * point["y"]
        return value(*(point[category] for category in sizes), z)

    categories = {category: Choice(list(range(k))) for category, k in sizes.items()}
    space = Space(categories | {"x": Float(-1, 1), "y": Float(-1, 1)})
    pit = {"x": 0.08984201368301331 / 2, "y": -math.sqrt(0.5077860) / 2}  # the camel's (0.0898, -0.7126)
    known = {"optimum": -camels * CAMEL / 10, "best": best | pit, "close": CLOSE}
    return Discrete(name, space, function, **known, reach={"x": REACH, "y": REACH})
