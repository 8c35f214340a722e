"""The matrix that the plan is made of: chunks in order of priority, and what was left out for good.

Seeds 100-109 are those of the tables. GP methods whose own time forbids the full budget run a smaller one.
"""

from typing import NamedTuple

from benchmarks import problems


class Cell(NamedTuple):
    """One method on one problem over a span of seeds."""

    problem: str
    method: str
    batch: int
    seeds: str
    budget: int


class Chunk(NamedTuple):
    """What is decided, or shown, together."""

    name: str
    cells: list[Cell]


Named = tuple[str, int]  # a method and its batch

FUNCTIONS = ("ackley", "rosenbrock", "rastrigin", "levy", "griewank")
THESIS = FUNCTIONS[:4]
AT_20 = [f"{name}-20{kind}" for name in FUNCTIONS for kind in ("", "-rotated")]
AT_100 = [f"{name}-100{kind}" for name in THESIS for kind in ("", "-rotated")]
REAL = ["lunar", "rover", "push", "swimmer", "hopper"]
OURS: list[Named] = [("lamcts", 1), ("lamcts", 10)]
QUICK: list[Named] = [
    (name, 1)
    for name in (
        "random", "sobol", "cma", "ngopt", "shiwa", "optuna tpe", "optuna cma", "dual annealing",
        "differential evolution", "powell", "cobyla", "cobyqa", "voo", "soo", "doo",
    )
]  # fmt: skip
SLOW: dict[Named, int] = {("botorch", 10): 300, ("optuna gp", 1): 200, ("botorch", 1): 200, ("smac", 1): 200}
PAIRED: list[Named] = [(f"lamcts {s}, {t}", 1) for s in ("turbo", "cma", "uniform") for t in ("tree", "no tree")]
GP_PAIR: list[Named] = [("lamcts bo, tree", 1), ("lamcts bo, no tree", 1)]
TURBO: list[Named] = [("reference TuRBO-1", 10)]
LAMCTS: list[Named] = [("reference LaMCTS-TuRBO", 1)]
LARGE: list[Named] = [(f"lamcts {s}, {t}", 100) for s in ("uniform", "turbo", "cma") for t in ("tree", "no tree")]


def cells(names: list[str], methods: list[Named], seeds: str = "100-109", budget: int | None = None) -> list[Cell]:
    return [Cell(n, m, batch, seeds, budget or problems.find(n).budget) for n in names for m, batch in methods]


def slow(names: list[str]) -> list[Cell]:
    return [cell for method, budget in SLOW.items() for cell in cells(names, [method], "100-104", budget)]


CHUNKS = [
    Chunk("parity", cells([f"{n}-20" for n in THESIS], [("lamcts turbo, no tree", 10), *TURBO])),
    Chunk("harm 20", cells(AT_20, PAIRED) + cells(AT_20, GP_PAIR, budget=300)),
    Chunk("default 20", cells(AT_20, [*OURS, *QUICK])),
    Chunk("default real", cells(REAL, OURS) + cells(REAL[:3], QUICK) + cells(REAL[3:], [("random", 1), ("cma", 1)])),
    Chunk("default 100", cells(AT_100, [*OURS, *QUICK], "100-104")),
    Chunk("predecessor", cells([f"{n}-20" for n in THESIS], LAMCTS, "100-102", 500)),
    Chunk("harm 100", cells(AT_100, PAIRED, "100-104")),
    Chunk("cheetah", cells(["halfcheetah"], [*OURS, ("cma", 1)], "100-102")),
    Chunk("slow peers", slow(AT_20)),
    Chunk("predecessor 100", cells([f"{n}-100" for n in THESIS], LAMCTS, "100-102", 300)),
    Chunk("reference 100", cells([f"{n}-100" for n in THESIS], TURBO, "100-102")),
    Chunk("large", cells(["ackley-200"], LARGE, "100-103")),
    Chunk("held out 20", cells(["schwefel-20", "styblinski-tang-20", "michalewicz-20"], [*OURS, *QUICK])),
    Chunk("held out small", cells(["hartmann6", "branin"], [*OURS, *QUICK])),
    Chunk("held out gaits", cells(["walker2d", "ant", "humanoid"], [("lamcts", 10), ("cma", 1)], "100-101")),
]

CUT = [  # problem, method, reason
    ("d > 20", "lamcts bo", "GP-BO: d <= 20 and 300 evaluations only"),
    ("d >= 60", "botorch, optuna gp, smac", "own time: minutes an evaluation at the full budget"),
    ("swimmer, hopper", "peers but random and cma", "an evaluation is three episodes, which cost more than the method"),
]

# What is timed, at which part of its budget: (problem, evaluations) -> methods.
PARTIAL: dict[tuple[str, int], list[Named]] = {
    ("ackley-20", 300): [*OURS, *QUICK, *PAIRED, ("lamcts turbo, no tree", 10)],
    ("ackley-20", 100): [*GP_PAIR],
    ("ackley-20", 70): [*SLOW],
    ("ackley-100", 300): [*OURS, *QUICK, *PAIRED],
    ("ackley-200", 1000): LARGE,
}
