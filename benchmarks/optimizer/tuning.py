"""What do the portfolio's settings change? Each one at a lower and a higher value, and each arm left out, d = 20.

    python -m benchmarks.optimizer.tuning [--seeds 0-2] [--choices default "auto least=0.02"] [--problems ackley]

One setting at a time differs from the default; 500 evaluations in batches of 10, the five functions of the tables,
plain and turned, moved by the run's seed. Tuning seeds alone: no row of a table may come from here. Rows go to
results/tuning.csv. The table compares the log10 of the final regret with the default's, problem by problem and seed by
seed, of the rows that were asked for; below 0 the alternative is better.

Cut so that it stays within half an hour of one core (20 choices, 10 problems, 2.3 s a run): three seeds, half the
budget of the tables, no d = 100, no rover and push, no one by one. Seeds 3 and 4 are there for the four alternatives
with the lowest medians on the first three, as a look at fresh pairs. Left out as well: `base` below 0.07, since
Portfolio refuses a base below `least`; twice the rows, since the default's 462 are hardly passed in 500
evaluations; what is no setting (SHARPNESS, LITTLE and PRIOR of the bandit, NEAR, FAR and MEAN_EVERY of Quadratic,
LATELY of Coordinate).
"""

from dataclasses import replace
from functools import cache
from itertools import product
from statistics import median
from typing import Any, NamedTuple

from benchmarks import problems
from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.search import Search
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import OURS, commit, versions
from benchmarks.peers import ours
from benchmarks.tables.markdown import markdown
from lamcts import Box
from lamcts.samplers import Portfolio, make

DEFAULT = "default"
ARMS = ("turbo", "quadratic", "coordinate")  # as the portfolio has them, the base first
TRIED: dict[str, dict[str, tuple[float, ...]]] = {  # d = 20: the default has 462 rows and a patience of 120
    "auto": {"least": (0.02, 0.15), "base": (0.07, 0.3), "memory": (20, 180)},
    "quadratic": {
        "rows": (115, 231),
        "length": (0.5, 1.0),
        "failure_tolerance": (3, 12),
    },
    "coordinate": {"patience": (60, 240)},
}
FUNCTIONS = ("ackley", "griewank", "levy", "rastrigin", "rosenbrock")
KINDS = ("", "-rotated")
SHOWN = (100, 200, 300)
Scores = dict[tuple[str, str], float]  # by problem and seed


class Case(NamedTuple):
    """One run; its fields are the key of its row."""

    choice: str
    problem: str
    batch: int
    seed: int
    budget: int


COLUMNS = (*Case._fields, "best", *(f"best_{m}" for m in SHOWN), "score", "versions")


def main() -> None:
    given = script.parser(__doc__, "tuning.csv", "three choices on one function, small")
    script.many(given, "0-2")
    given.add_argument("--choices", nargs="+", default=list(samplers()), choices=list(samplers()), metavar="NAME")
    given.add_argument("--problems", nargs="+", default=FUNCTIONS, choices=FUNCTIONS)
    given.add_argument("--dim", type=int, default=20)
    given.add_argument("--budget", type=int, default=500)
    tiny = [DEFAULT, "auto least=0.15", "without quadratic"]
    arguments = script.parsed(given, choices=tiny, problems=["ackley"], seeds=[0], dim=3, budget=30)
    if not set(arguments.seeds) <= set(problems.TUNING):
        given.error(f"expected tuning seeds, 0 to {problems.TUNING[-1]}, got {arguments.seeds}: tables need the others")
    names = [f"{name}-{arguments.dim}{kind}" for name in arguments.problems for kind in KINDS]
    each = product(arguments.seeds, arguments.choices, names)  # seed by seed, so that it may be stopped at any
    cases = [Case(choice, name, 10, seed, arguments.budget) for seed, choice, name in each]
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    script.record(cases, sheet, "benchmarks.optimizer.tuning:measure", arguments.jobs)
    print(table(asked(sheet, cases)))


@cache
def samplers() -> dict[str, Portfolio]:
    """Return the default and what differs from it in one thing, by name."""
    default = make("portfolio", Box(0, 1, dim=1))
    assert isinstance(default, Portfolio) and len(default.arms) == len(ARMS)
    found = {DEFAULT: default}
    for part, settings in TRIED.items():
        for name, values in settings.items():
            found |= {f"{part} {name}={value:g}": _with(default, part, {name: value}) for value in values}
    for arm in ARMS:
        left = (other for name, other in zip(ARMS, default.arms, strict=True) if name != arm)
        found[f"without {arm}"] = replace(default, arms=tuple(left))  # without the base the next one takes its place
    return found


def _with(default: Portfolio, part: str, settings: dict[str, Any]) -> Portfolio:
    """Return the default with other settings of a part: "auto" or the name of an arm."""
    if part == "auto":
        return replace(default, **settings)
    place = ARMS.index(part)
    arms: list[Any] = list(default.arms)
    arms[place] = replace(arms[place], **settings)
    return replace(default, arms=tuple(arms))


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    problem = problems.find(case.problem)
    search = Search(problem.make(case.seed), case.seed, case.budget, case.batch)
    one_run.go(lambda search: ours.search(search, sampler=samplers()[case.choice]), search)
    best = search.improved[-1][1]
    after = {m: one_run.best_after(search.improved, m) for m in SHOWN if m <= case.budget}
    row = case._asdict() | {"best": one_run.digits(best)}
    row |= {f"best_{m}": one_run.digits(value) for m, value in after.items()}
    row |= {"score": f"{problem.score(best, search.objective.optimum):.4f}"}
    return row | {"versions": f"commit {commit()} {versions(OURS)}"}, None


def asked(sheet: Sheet, cases: list[Case]) -> list[dict[str, str]]:
    """Return the rows of these cases: a table never mixes budgets, nor seeds that nobody asked for."""
    keys = {tuple(map(str, case)) for case in cases}
    return [row for row in sheet.rows() if tuple(row[name] for name in sheet.key) in keys]


def table(rows: list[dict[str, str]]) -> str:
    """Return one line a choice: its scores minus the default's, over all pairs and problem by problem.

    Sign test: how often chance alone would share wins and losses at least as unevenly, were both as good.
    """
    names = list(dict.fromkeys(row["problem"] for row in rows))
    default = scores(rows, DEFAULT)
    lines = []
    for choice in samplers():
        pairs = paired(scores(rows, choice), default)
        if choice != DEFAULT and pairs:
            each = [[gap for (problem, _), gap in pairs.items() if problem == name] for name in names]
            lines.append((choice, *summary(list(pairs.values())), *map(_signed, each)))
    return markdown(("choice", "pairs", "median", "wins", "losses", "sign test", *names), lines)


def scores(rows: list[dict[str, str]], choice: str) -> Scores:
    """Return the scores of a choice by problem and seed."""
    return {(row["problem"], row["seed"]): float(row["score"]) for row in rows if row["choice"] == choice}


def paired(other: Scores, default: Scores) -> Scores:
    """Return the differences, other minus default, where both are there."""
    return {key: score - default[key] for key, score in other.items() if key in default}


def summary(gaps: list[float]) -> tuple[str, ...]:
    """Return pairs, median, wins, losses, and the two-sided sign test; what is equal is neither won nor lost."""
    wins, losses = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    return str(len(gaps)), _signed(gaps), str(wins), str(losses), f"{sign_test(wins, losses):.2g}"


def sign_test(wins: int, losses: int) -> float:
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def _signed(gaps: list[float]) -> str:
    return f"{median(gaps):+.2f}" if gaps else ""


if __name__ == "__main__":
    main()
