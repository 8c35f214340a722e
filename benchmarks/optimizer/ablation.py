"""What each part of the default is worth: runs without it, on the development suites.

    python -m benchmarks.optimizer.ablation --parts all             runs that are not in results/ablation.csv yet
    python -m benchmarks.optimizer.ablation --parts "close-ups"     one part
    python -m benchmarks.optimizer.ablation --table                 the table of the rows that are there, runs nothing

Three settings: 200 evaluations one at a time at d = 5 and at d = 20; 2000 evaluations in batches of 10 at d = 20.
Problems: the 24 BBOB functions (instance 76) and MA-BBOB 101 to 112. The table gives the mean rank among the peers of
results/public.csv and the mean area under the convergence curve, as changes from the whole default. The suites need
the package ioh.
"""

import importlib
import importlib.util
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.comparison import KEY, Case
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.optimizer import public
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown
from lamcts.samplers.gp_cma.model import transforms

WHOLE = "lamcts"
METHOD = "lamcts gp_cma, no tree"
PACKAGE = "lamcts.samplers.gp_cma."
PARTS: dict[str, dict[str, Any]] = {  # name -> what is patched: module, attribute and value
    "close-ups": {"session.CLOSE_UP_CORRELATION": -2.0},
    "the model's minimiser among the candidates": {"model.Model.minimiser": lambda self, x, width: x},
    "the quadratic part": {"model.QUADRATICS": (0.0,) * 6},
    "the slow rate of generations (1 an evaluation)": {"session.GENERATIONS_PER_EVALUATION": 1.0},
    "Thompson sampling (the mean instead)": {
        "model.Model.sample": lambda self, x, n, *_: np.tile(self.expect(x), (n, 1)),
    },
    "transforms (values as they are)": {"model.transforms": lambda y: [transforms(y)[0]] * 3},
    "transforms (ranks alone)": {"model.transforms": lambda y: [transforms(y)[1]] * 3},
    "the mean outside the box": {"distribution.MAX_MEAN_OUTSIDE": 0.0},
    "the cost of draws outside the box": {"session.OUTSIDE_PENALTY": 0.0},
    "least-norm quadratics in the start": {"start.MODEL_STEPS": 0.0},
    "axis steps in the start (uniform points instead)": {"start.Start.axis_step": lambda self, best: None},
}
SETTINGS = {"d = 5": (5, 1, 200), "d = 20": (20, 1, 200), "d = 20 in batches": (20, 10, 2000)}
SUITES = {"bbob": ["76"], "mabbob": ["101-112"]}
PEERS = {1: ("cobyla", "cobyqa", "cma lq", "cma bipop", "optuna cma", "optuna tpe"),
         10: ("cobyqa", "cma lq", "cma bipop", "optuna cma")}  # fmt: skip


def main() -> None:
    arguments = script.parsed(options(), parts=["close-ups"], smoke_run=True)
    sheet = Sheet(arguments.out, KEY, public.COLUMNS)
    if arguments.table:
        print(table(sheet.rows(), Sheet(RESULTS / "public.csv", KEY, public.COLUMNS).rows()))
        return
    if importlib.util.find_spec("ioh") is None:
        print("left for later: ioh is not installed: pip install '.[peers]'")
        return
    for part in [WHOLE, *PARTS] if arguments.parts == ["all"] else arguments.parts:
        with without(part):
            for case in cases(part, arguments):
                if sheet.wants(case):
                    sheet.record(public.measure(**case._asdict())[0])


def options() -> ArgumentParser:
    given = script.parser(__doc__, "ablation.csv", "one tiny run")
    given.add_argument("--parts", nargs="+", default=["all"], metavar="NAME", help="parts to leave out; all; lamcts")
    given.add_argument("--table", action="store_true")
    given.set_defaults(smoke_run=False)
    return given


@contextmanager
def without(part: str) -> Iterator[None]:
    """Run the block without a part of the default."""
    kept = []
    for path, value in PARTS.get(part, {}).items():
        module, *names = path.split(".")
        owner: Any = importlib.import_module(PACKAGE + module)
        for name in names[:-1]:
            owner = getattr(owner, name)
        kept.append((owner, names[-1], getattr(owner, names[-1])))
        setattr(owner, names[-1], value)
    try:
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)


def label(part: str) -> str:
    """Return what the rows of a part's absence are called."""
    return part if part == WHOLE else f"{WHOLE} without {part}"


def cases(part: str, arguments: Namespace) -> list[Case]:
    """Return the runs of a part's absence, problem by problem."""
    if arguments.smoke_run:
        return [Case(label(part), "mabbob-101-2", 1, 0, 20, METHOD)]
    return [
        Case(label(part), name, batch, 0, budget, METHOD)
        for dim, batch, budget in SETTINGS.values()
        for name in problems(dim)
    ]


def problems(dim: int) -> list[str]:
    """Return the names of the problems in `dim` dimensions."""
    return [
        name
        for suite, instances in SUITES.items()
        for name in public.names(Namespace(suites=[suite], dims=[dim], instances=instances, functions=["1-24"]))
    ]


# The table ------------------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, str]], peers: list[dict[str, str]]) -> str:
    """Return the rank and the area of the whole default, and how they change without each part."""
    found = {(row["method"], row["problem"], row["batch"], row["budget"]): row for row in [*peers, *rows]}
    base = {title: score(found, WHOLE, *setting) for title, setting in SETTINGS.items()}
    lines = []
    for part in [WHOLE, *PARTS]:
        cells = []
        for title, setting in SETTINGS.items():
            scores = score(found, label(part), *setting)
            cells += cell(scores, None if part == WHOLE else base[title])
        lines.append((part if part == WHOLE else f"without {part}", *cells))
    header = ("", *(f"{kind}, {title}" for title in SETTINGS for kind in ("rank", "area (p)")))
    return markdown(header, lines)


Score = tuple[float, np.ndarray]  # mean rank among the peers, areas [problems]


def score(found: dict[Any, dict[str, str]], method: str, dim: int, batch: int, budget: int) -> Score | None:
    """Return the mean rank of a method among the peers and its areas [problems], None where runs are missing."""
    names = problems(dim)
    keys = [(method, str(batch)), *((peer, "1") for peer in PEERS[batch])]
    gaps: dict[str, list[list[float]]] = {}
    marks = [mark for mark in public.MARKS if mark <= budget]
    for name, own in keys:
        rows = [found.get((name, problem, own, str(budget))) for problem in names]
        if any(row is None for row in rows):
            return None
        gaps[name] = [[max(float(row[f"gap_{m}"]), public.SMALLEST) for m in marks] for row in rows if row is not None]
    ranks = [
        stats.ranks({name: [row[k] for row in own] for name, own in gaps.items()})[method] for k in range(len(marks))
    ]
    areas = np.array([float(found[method, problem, str(batch), str(budget)]["aocc"]) for problem in names])
    return float(np.mean(ranks)), areas


def cell(own: Score | None, base: Score | None) -> tuple[str, str]:
    """Return the rank, and the area with the p of Wilcoxon's test; of a part's absence, as changes."""
    from scipy.stats import wilcoxon

    if own is None:
        return "", ""
    if base is None:
        return f"{own[0]:.2f}", f"{own[1].mean():.3f}"
    p = wilcoxon(own[1], base[1]).pvalue if (own[1] != base[1]).any() else 1.0
    return f"{own[0] - base[0]:+.2f}", f"{own[1].mean() - base[1].mean():+.3f} ({p:.2g})"


if __name__ == "__main__":
    main()
