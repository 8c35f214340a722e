"""Lines of a sheet: their meaning, and their cells."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.robustness.attacks.verdict import pick

RESERVED = (
    "trial",
    "seconds",
    "message",
    "note",
    "sem",
    "value",
    "point",
    "metric.note",
    "point.note",
    "value.message",
)
HOSTILE = (
    "learning rate",
    "a,b",
    "c;d",
    "e\tf",
    'g"h',
    "'i'",
    "gr\u00f6\u00dfe",
    "=1+1",
    "+x",
    "-y",
    "@z",
    "#k",
    "j.k",
    " pad ",
)
BOUND = 8.0  # of each constraint
NOTES = ("", "", "", "cloudy", "gr\u00f6\u00dfe; 5 %", 'a,b "c"', "# two\nlines")
REASONS = ("vial broke", "a, b; c", "gr\u00f6\u00dfe 'x'")
MEMBERS: tuple[Callable[[], Any], ...] = (
    lambda: lamcts.Float(-2.5, 7.25),
    lambda: lamcts.Float(1e-6, 10.0, log=True),
    lambda: lamcts.Int(0, 9),
    lambda: lamcts.Choice(["a", "b,c", "d;e", "", "1", "none", "true"]),
    lambda: lamcts.Choice([1, 2.5, None]),
    lambda: lamcts.Bool(),
    lambda: lamcts.Simplex(["flour", "sugar", "salt"], total=200),
    lambda: lamcts.Permutation(4),
)


class Plan(NamedTuple):
    """The space and the goals of a laboratory."""

    space: Any
    settings: dict[str, Any]

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Plan":
        def named(k: int) -> list[str]:
            return [str(name) for name in rng.permutation([*RESERVED, *HOSTILE])[:k]]

        members = [MEMBERS[0]()] + [pick(rng, MEMBERS)() for _ in range(int(rng.integers(0, 5)))]
        goals, m = named(4), int(rng.integers(1, 3))
        settings: dict[str, Any] = {"objectives": {name: pick(rng, ("min", "max")) for name in goals[:m]}}
        bounded = [name for name in goals[m:] if name.replace(" ", "").isalpha()][: int(rng.integers(0, 2))]
        settings["constraints"] = [f"{name} <= {BOUND}" for name in bounded]
        settings |= {"seed": int(rng.integers(2**31)), "sampler": pick(rng, ("uniform", "uniform", "auto"))}
        return cls(lamcts.Space(dict(zip(named(len(members)), members, strict=True))), settings)

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of objectives and of constraints."""
        return len(self.settings["objectives"]), len(self.settings["constraints"])

    @property
    def decimals(self) -> list[bool]:
        """Of each column of a point, whether it has numbers with decimals."""
        kinds = [(member, getattr(member, "names", None) or [""]) for member in self.space.members]
        return [isinstance(member, (lamcts.Float, lamcts.Simplex)) for member, parts in kinds for _ in parts]


@dataclass
class Line:
    """A line: its trial, its point as a value and in cells, and what was measured (nan: nothing)."""

    trial: int | None
    point: dict[str, Any]
    cells: list[str]
    values: list[float] = field(default_factory=list)
    quantities: list[float] = field(default_factory=list)
    message: str = ""
    note: str = ""

    @property
    def empty(self) -> bool:
        return not self.message and all(map(math.isnan, [*self.values, *self.quantities]))

    def fill(self, plan: Plan, rng: np.random.Generator) -> None:
        """Measure: a failure, all values, or all but some quantities."""
        m, c = plan.counts
        failed = rng.random() < 0.2
        self.values = [math.nan if failed else float(rng.normal()) * 10.0 ** int(rng.integers(-3, 6)) for _ in range(m)]
        self.quantities = [math.nan if failed or rng.random() < 0.1 else 16 * float(rng.random()) for _ in range(c)]
        self.message, self.note = pick(rng, REASONS) if failed else "", self.note or pick(rng, NOTES)

    def change(self, plan: Plan, rng: np.random.Generator) -> None:
        """Write another amount: the first parameter is a `Float`."""
        amount = float(rng.uniform(-2.5, 7.25))
        self.cells, self.point = [repr(amount), *self.cells[1:]], self.point | {plan.space.names[0]: amount}

    @classmethod
    def of_others(cls, like: "Line", plan: Plan, rng: np.random.Generator) -> "Line":
        """Return a line without a trial."""
        line = cls(None, like.point, like.cells)
        line.change(plan, rng)
        line.fill(plan, rng)
        return line

    def row(self) -> tuple[Any, ...]:
        """Return the row of the ledger that the line becomes."""
        over = [quantity - BOUND for quantity in self.quantities]
        return -1 if self.trial is None else self.trial, self.point, self.values, over, self.message, self.note
