"""The default on public suites next to its peers: ranks, areas under convergence curves, targets.

    python -m benchmarks.optimizer.public --suites bbob --instances 79 --dims 5 20 --methods lamcts "cma lq"
    python -m benchmarks.optimizer.public --suites mabbob --instances 101-124 --dims 20 --batch 10 --budget 2000
    python -m benchmarks.optimizer.public --as "lamcts 0.1" ...  rows of this checkout's default under another name
    python -m benchmarks.optimizer.public --table --dims 20 --batch 10  tables of the rows that are there, run nothing

Rows go to results/public.csv, one a run; what is there is not run again. Peers are run one point at a time whatever
--batch says: their rows have batch 1, and the tables put them next to ours. Instances for decisions: BBOB 76 to 85 and
MA-BBOB 101 to 300; for claims alone: BBOB 86 to 88 and MA-BBOB 301 to 330. The suites need the package ioh.
`aocc` is the mean over evaluations of the share of the targets 1e2 to 1e-8 (on a log scale) that is reached.
"""

import importlib.util
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.comparison import KEY, Case
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result, Task
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

MARKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
LARGEST, SMALLEST = 1e2, 1e-8  # targets; gaps below the last are equal
BATCHED = ("lamcts", "old default")  # what a name begins with that takes batches
GROUPS = {"separable": range(1, 6), "moderate": range(6, 10), "ill-conditioned": range(10, 15),
          "multimodal": range(15, 20), "weak structure": range(20, 25)}  # fmt: skip
COLUMNS = (*KEY, "dim", *(f"gap_{m}" for m in MARKS), "aocc", "own_ms", "commit", "versions")


def main() -> None:
    arguments = script.parsed(options(), suites=["mabbob"], instances=["101"], dims=[2], budget=20, here=True)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.table:
        print(tables(arguments, sheet.rows()))
        return
    if importlib.util.find_spec("ioh") is None:
        print("left for later: ioh is not installed: pip install '.[peers]'")
        return
    todo = [case for case in cases(arguments) if sheet.wants(case)]
    print(f"{len(todo)} runs to do", flush=True)
    if not arguments.here:
        script.record(todo, sheet, "benchmarks.optimizer.public:measure", arguments.jobs, arguments.hours)
        return
    for case in todo:  # a process each costs seconds
        sheet.record(measure(**case._asdict())[0])


def options() -> ArgumentParser:
    given = script.parser(__doc__, "public.csv", "one tiny run")
    given.add_argument("--suites", nargs="+", default=["bbob", "mabbob"], help="out of bbob, mabbob, corner")
    given.add_argument("--instances", nargs="+", default=["76"], help="such as 76 or 101-112")
    given.add_argument("--functions", nargs="+", default=["1-24"], help="of bbob")
    given.add_argument("--dims", nargs="+", type=int, default=[20])
    given.add_argument("--methods", nargs="+", default=["lamcts"], metavar="NAME")
    given.add_argument("--as", dest="label", default="", help="what the rows of the one method are called")
    given.add_argument("--seeds", nargs="+", default=["0"])
    given.add_argument("--batch", type=int, default=1, help="of methods that take batches")
    given.add_argument("--budget", type=int, default=200)
    given.add_argument("--jobs", type=int, default=1)
    given.add_argument("--hours", type=float, default=1e9, help="start no run after so many")
    given.add_argument("--here", action="store_true", help="all runs in this process")
    given.add_argument("--table", action="store_true")
    given.add_argument("--each", action="store_true", help="of tables: also the gaps problem by problem")
    return given


def cases(arguments: Namespace) -> list[Case]:
    """Return the runs that are asked for, problem by problem."""
    called = {arguments.label or method: method for method in arguments.methods}
    return [
        Case(called_as, name, batch_size(method, arguments.batch), seed, arguments.budget, method)
        for name in names(arguments)
        for seed in arguments.seeds
        for called_as, method in called.items()
    ]


def batch_size(method: str, batch: int) -> int:
    """Return the batch size that a method is run with: 1 unless it takes batches."""
    return batch if method.startswith(BATCHED) else 1


def names(arguments: Namespace) -> list[str]:
    """Return the problems of the suites that are asked for."""
    found: list[str] = []
    for suite in arguments.suites:
        for dim in arguments.dims:
            for instance in numbers(arguments.instances):
                if suite == "bbob":
                    found += [f"bbob-f{f}-i{instance}-{dim}" for f in numbers(arguments.functions)]
                else:
                    found.append(f"{suite}-{instance}-{dim}")
    return found


def numbers(words: Sequence[str]) -> list[int]:
    """Return the numbers of words such as "76" or "101-112"."""
    found: list[int] = []
    for word in words:
        low, _, high = str(word).partition("-")
        found += range(int(low), int(high or low) + 1)
    return found


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    case = Case(**fields)
    row, curve = one_run.measure(**Task(case.runs, *case[1:-1])._asdict())
    best = filled(curve["n"], curve["best"], case.budget)
    row |= {f"gap_{m}": f"{best[m - 1]:.6g}" for m in MARKS if m <= case.budget}
    row |= {"method": case.method, "aocc": f"{area(best):.5f}"}
    return {name: row[name] for name in COLUMNS if name in row}, None


def filled(n: Sequence[int], best: Sequence[float], budget: int) -> np.ndarray:
    """Return the best gap after each evaluation, [budget]."""
    curve = np.full(budget, np.inf)
    for k, value in zip(n, best, strict=True):
        curve[k - 1 :] = value
    return curve


def area(gaps: np.ndarray) -> float:
    """Return the area under a convergence curve: 1 where every target is reached at once."""
    decades = np.log10(LARGEST) - np.log10(SMALLEST)
    return float(np.mean((np.log10(LARGEST) - np.log10(np.clip(gaps, SMALLEST, LARGEST))) / decades))


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(arguments: Namespace, rows: list[dict[str, str]]) -> str:
    """Return a table of ranks for each suite and dimension, on the problems and seeds that all methods share."""
    asked, seeds = set(names(arguments)), set(map(str, arguments.seeds))
    found: dict[str, dict[tuple[str, str], dict[str, str]]] = defaultdict(dict)
    for row in rows:
        name = row["method"]
        if row["problem"] not in asked or row["seed"] not in seeds or row["budget"] != str(arguments.budget):
            continue
        if row["batch"] == str(batch_size(name, arguments.batch)):
            found[name][row["problem"], row["seed"]] = row
    order = [name for name in (arguments.methods if len(arguments.methods) > 1 else found) if name in found]
    parts = []
    for suite in arguments.suites:
        for dim in arguments.dims:
            kind = {key for key in set.union(*(set(found[m]) for m in order)) if _is(key[0], suite, dim)}
            shared = sorted(kind.intersection(*(found[m] for m in order)))
            if shared:
                rows_of = {m: [found[m][key] for key in shared] for m in order}
                parts.append(table(f"{suite}, d = {dim}", rows_of, arguments))
    return "\n\n".join(parts)


def _is(problem: str, suite: str, dim: int) -> bool:
    return problem.startswith(suite) and problem.endswith(f"-{dim}")


def table(title: str, rows: dict[str, list[dict[str, str]]], arguments: Namespace) -> str:
    """Return mean ranks at the marks, the mean area, the test of it against the first method, and own milliseconds."""
    from scipy.stats import wilcoxon

    marks = [m for m in MARKS if m <= arguments.budget]
    ranks = [
        stats.ranks({m: [max(float(row[f"gap_{k}"]), SMALLEST) for row in own] for m, own in rows.items()})
        for k in marks
    ]
    areas = {m: np.array([float(row["aocc"]) for row in own]) for m, own in rows.items()}
    (first, base), *_ = areas.items()
    lines = []
    for m, own in rows.items():
        p = wilcoxon(base, areas[m]).pvalue if (base != areas[m]).any() else 1.0
        wins = f"{(base > areas[m]).sum()}:{(base < areas[m]).sum()}"
        mean = float(np.mean([rank[m] for rank in ranks]))
        cells = [f"{rank[m]:.2f}" for rank in ranks]
        own_ms = np.median([float(row["own_ms"]) for row in own])
        lines.append((m, *cells, f"{mean:.2f}", f"{areas[m].mean():.4f}", wins, f"{p:.2g}", f"{own_ms:.1f}"))
    n = len(next(iter(rows.values())))
    header = ("method", *(f"@{m}" for m in marks), "mean", "aocc", f"{first} won:lost", "p", "own ms")
    text = f"### {title}: {n} runs, mean rank of {len(rows)}\n\n{markdown(header, lines)}"
    return text + _groups(areas, rows) + (_each(rows, marks[-1]) if arguments.each else "")


def _groups(areas: dict[str, np.ndarray], rows: dict[str, list[dict[str, str]]]) -> str:
    """Return the mean areas in each of COCO's groups of functions, "" where the problems are others."""
    problems = [row["problem"] for row in next(iter(rows.values()))]
    if not problems[0].startswith("bbob"):
        return ""
    of = np.array([int(name.split("-")[1][1:]) for name in problems])
    groups = [np.isin(of, list(group)) for group in GROUPS.values()]
    lines = [
        (m, *(f"{area[group].mean():.3f}" if group.any() else "" for group in groups)) for m, area in areas.items()
    ]
    return "\n\n" + markdown(("aocc", *GROUPS), lines)


def _each(rows: dict[str, list[dict[str, str]]], mark: int) -> str:
    own = list(rows.values())
    cells = ((one[0]["problem"], [float(row[f"gap_{mark}"]) for row in one]) for one in zip(*own, strict=True))
    lines = [(name, *(f"{gap:.2g}" for gap in gaps)) for name, gaps in cells]
    return "\n\n" + markdown((f"gap @{mark}", *rows), lines)


if __name__ == "__main__":
    main()
