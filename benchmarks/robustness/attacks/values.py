"""What evaluations give: numbers of all sizes in all clothes, ties, constants, and failures of every sort."""

import decimal
import fractions
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.robustness.attacks.verdict import pick


class Unprintable(Exception):
    """An exception whose text cannot be had, as some libraries raise them."""

    def __str__(self) -> str:
        raise KeyError("missing")


NUMBERS = {  # how the mean squared distance from a point inside becomes what is told
    "smooth": lambda s: s,
    "constant": lambda s: 1.0,
    "tied": lambda s: float(round(6 * s)),
    "two values": lambda s: float(s > 0.5),
    "huge": lambda s: 1e308 * math.tanh(s - 0.5),
    "tiny": lambda s: 5e-324 * round(1e3 * s),
    "steep": lambda s: math.exp(min(300 * s, 700)),
    "far off": lambda s: 1e12 + s,
}
CLOTHES = (float, float, np.float64, np.array, np.ma.array, fractions.Fraction, decimal.Decimal, np.longdouble)
FAILURES = (
    lambda: None,
    lambda: math.nan,
    lambda: math.inf,
    lambda: -math.inf,
    lambda: np.float32("nan"),
    lambda: np.ma.masked,
    lambda: np.ma.array(1.0, mask=True),
    lambda: 10**400,
    lambda: ValueError("a usual failure"),
    lambda: KeyError(),
    lambda: RuntimeError('two\nlines, "quotes", \x00 and \x1b[31m'),
)
NASTY = (  # failures whose own texts are a trap
    lambda: OSError("no file '\udcff.txt'"),  # what os.listdir gives for a file name in Latin-1
    lambda: Unprintable({}),
)
SMALL = {"smooth", "constant", "tied", "two values"}  # values that float32 holds well enough


@dataclass(frozen=True)
class Regime:
    """One kind of function, the share of its evaluations that fail, and how nastily they may."""

    name: str
    failing: float
    nasty: bool

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Regime":
        hopeless = 1.0 if rng.random() < 0.2 else 0.0
        return cls(pick(rng, NUMBERS), float(pick(rng, (0.0, 0.0, 0.1, 0.5, hopeless))), bool(rng.random() < 0.25))

    def draw(self, x: np.ndarray, rng: np.random.Generator) -> tuple[Any, float]:
        """Return a value for the point encoded as `x` [d], and the number it stands for: nan for a failure."""
        if rng.random() < self.failing:
            return pick(rng, FAILURES + NASTY if self.nasty else FAILURES)(), math.nan
        number = self.number(x)
        if self.name in SMALL and rng.random() < 0.1:
            return np.float32(number), float(np.float32(number))
        return pick(rng, CLOTHES)(number), number

    def number(self, x: np.ndarray) -> float:
        return float(NUMBERS[self.name](float(np.mean((x - 0.3) ** 2))))
