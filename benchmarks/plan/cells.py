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
HELD_OUT, SMALL = ("schwefel", "styblinski-tang", "michalewicz"), ["hartmann6", "branin"]
OURS: list[Named] = [("lamcts", 1), ("lamcts", 10)]
QUICK: list[Named] = [
    (name, 1)
    for name in (
        "random", "sobol", "cma", "ngopt", "shiwa", "optuna tpe", "optuna cma", "dual annealing",
        "differential evolution", "powell", "cobyla", "cobyqa", "voo", "soo", "doo",
    )
]  # fmt: skip
AT_100_TOO = ("random", "cma", "ngopt", "optuna cma", "dual annealing", "powell")
LEADING: list[Named] = [pair for pair in QUICK if pair[0] in AT_100_TOO]
LUNAR: list[Named] = [pair for pair in LEADING if pair[0] != "cma"]
SLOW: list[Named] = [("optuna gp", 1), ("botorch", 10), ("botorch", 1), ("smac", 1)]
GAIT: list[Named] = [*OURS, ("random", 1), ("cma", 1)]
BATCHED: list[Named] = [("lamcts", 10), ("cma", 1)]
PAIRED: list[Named] = [(f"lamcts {s}, {t}", 1) for s in ("turbo", "cma", "uniform") for t in ("tree", "no tree")]
GP_PAIR: list[Named] = [("lamcts bo, tree", 1), ("lamcts bo, no tree", 1)]
TURBO: list[Named] = [("reference TuRBO-1", 10)]
LAMCTS: list[Named] = [("reference LaMCTS-TuRBO", 1)]
LARGE: list[Named] = [(f"lamcts {s}, {t}", 100) for s in ("uniform", "turbo", "cma") for t in ("tree", "no tree")]


def cells(names: list[str], methods: list[Named], seeds: str = "100-109", budget: int | None = None) -> list[Cell]:
    return [Cell(n, m, batch, seeds, budget or problems.find(n).budget) for n in names for m, batch in methods]


CHUNKS = [
    Chunk("parity", cells([f"{n}-20" for n in THESIS], [("lamcts turbo, no tree", 10), *TURBO])),
    Chunk("harm 20", cells(AT_20, PAIRED) + cells(AT_20, GP_PAIR, budget=300)),
    Chunk("default 20", cells(AT_20, [*OURS, *QUICK])),
    Chunk("lunar", cells(["lunar"], [*OURS, ("cma", 1)]) + cells(["lunar"], LUNAR, "100-104")),
    Chunk("default games", cells(["push"], [*OURS, *QUICK]) + cells(["rover"], [*OURS, *LEADING])),
    Chunk("predecessor", cells([f"{n}-20" for n in THESIS], LAMCTS, "100-102", 500)),
    Chunk("default gaits", cells(["swimmer"], GAIT) + cells(["hopper-ars"], BATCHED, "100-104")),
    Chunk("default 100", cells(AT_100, [*OURS, *LEADING])),
    Chunk("cheetah", cells(["halfcheetah-ars"], BATCHED, "100-102")),
    Chunk("large", cells(["ackley-200"], LARGE, "100-103")),
    Chunk("held out", cells([f"{n}-20" for n in HELD_OUT], [*OURS, *LEADING]) + cells(SMALL, [*OURS, *LEADING])),
    Chunk("held-out gaits", cells(["walker2d-ars"], BATCHED, "100-101")),
    Chunk("ant", cells(["ant-ars", "ant"], BATCHED, "100", 1000)),
    Chunk("humanoid", cells(["humanoid-ars", "humanoid"], BATCHED, "100", 500)),
    Chunk("gaits with states as they are", cells(["hopper", "halfcheetah"], BATCHED, "100-102")),
    Chunk("walker with states as they are", cells(["walker2d"], BATCHED, "100-101")),
    Chunk("slow peers", cells(AT_20, SLOW[:1], "100-104", 200) + cells(AT_20[1::2], SLOW[1:2], "100-104", 150)),
    Chunk("predecessor 100", cells([f"{n}-100" for n in THESIS], LAMCTS, "100-102", 300)),
    Chunk("harm 100", cells(AT_100[::2], PAIRED[:4], "100-104")),
    Chunk("reference 100", cells([f"{n}-100" for n in THESIS], TURBO, "100-102")),
]

CUT = [  # problem, method, reason
    ("d > 20", "lamcts bo", "GP-BO: d <= 20 and 300 evaluations only"),
    (
        "d = 20",
        "botorch@1, smac",
        "own time: more than five seeds of a useful budget can have; botorch@10 stands for both",
    ),
    ("d >= 60", "botorch, optuna gp, smac", "own time"),
    (
        "d >= 60",
        "other peers",
        "hours: six that span the kinds stay; COBYLA alone would take 560 s a run, extrapolated",
    ),
    ("lunar", "other peers", "hours: an evaluation is ten episodes"),
    ("gaits", "peers but random and cma", "an evaluation is three episodes, which cost more than the method"),
]

# What is timed, at which part of its budget: (problem, evaluations) -> methods.
PARTIAL: dict[tuple[str, int], list[Named]] = {
    ("ackley-20", 300): [*OURS, *QUICK, *PAIRED, ("lamcts turbo, no tree", 10)],
    ("ackley-20", 100): [*GP_PAIR],
    ("ackley-20", 70): SLOW[:3],
    ("ackley-100", 300): [*OURS, *LEADING, *PAIRED[:4]],
    ("ackley-200", 1000): LARGE,
}
