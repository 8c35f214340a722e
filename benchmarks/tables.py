"""The tables: who gets how far, who is first, what the tree does, how many evaluations it saves, what it costs.

    python -m benchmarks.tables [best ranks targets rescored harm parity saved time failures] [--problems NAME ...]

Scores are log10 of the regret where the optimum is known, else the missing share of the problem's span, from the
re-scored incumbent where there is one: lower is better. All rows are those of results/runs.
"""

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from benchmarks import ledger, problems, report, stats
from benchmarks.run import seeds_of

DEFAULT = ("lamcts@1", "lamcts@10")  # what stands for us in the ranking
PARITY = {"lamcts turbo, no tree@10": "reference TuRBO-1@10"}  # ours and theirs, the same method
VERDICTS = ("better", "harmless", "no worse", "undecided", "harmed", "worse")
BESIDE_THEIRS = {"harmless": "no worse", "harmed": "worse"}  # what the verdicts on the tree mean of two versions
REFERENCES = {"reference LaMCTS-TuRBO@1": 1 / 3, "reference TuRBO-1@10": 2 / 3, "reference TuRBO-1@1": 2 / 3}


class Run(NamedTuple):
    """One good run: its row, what it reached, and its curve (evaluations at which the score improved, and the scores).

    cut: the run had a larger budget and counts as far as this one. rescored: the re-scored incumbents by evaluations.
    """

    row: dict[str, str]
    value: float
    score: float
    n: list[int]
    scores: list[float]
    cut: bool = False
    rescored: Mapping[int, float] = MappingProxyType({})


Cell = dict[int, Run]  # by seed
Runs = dict[str, dict[str, Cell]]  # by problem with its budget, then by METHOD@BATCH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"default: all of {', '.join(TABLES)}")
    parser.add_argument("--problems", nargs="+", default=[])
    parser.add_argument("--seeds", nargs="+", default=["100-119"], help="as in benchmarks.run")
    parser.add_argument("--runs", type=Path, default=ledger.RUNS)
    parser.add_argument("--smoke", action="store_true", help="the same: it is quick")
    arguments = parser.parse_args()
    for name in arguments.tables or TABLES:
        if name not in TABLES:
            parser.error(f"expected tables out of {', '.join(TABLES)}, got {name!r}")
    rows, curves = ledger.rows(arguments.runs), ledger.curves(arguments.runs)
    seeds = set(seeds_of(arguments.seeds))
    kept = {
        key: row
        for key, row in rows.items()
        if int(row["seed"]) in seeds and (not arguments.problems or row["problem"] in arguments.problems)
    }
    runs = grouped(kept, curves)
    beside = shortened(runs, curves)
    for name in arguments.tables or TABLES:
        if name == "failures":
            text = failures(kept.values())
        else:
            text = TABLES[name](beside if name in ("best", "ranks") else runs)
        if text:
            print(f"\n### {TITLES[name]}\n\n{text}")


def grouped(rows: dict[tuple[str, ...], dict[str, str]], curves: dict[tuple[str, ...], dict[str, Any]]) -> Runs:
    """Return the good runs by problem and method."""
    found: Runs = {}
    for key, row in rows.items():
        if row["status"] != "ok":
            continue
        problem = problems.find(row["problem"])
        optimum = float(row["optimum"]) if row["optimum"] else None
        value = float(row["rescored"] or row["best"])
        curve = curves.get(key, {"n": [], "best": []})
        steps = [problem.score(best, optimum) for best in curve["best"]]
        methods = found.setdefault(f"{problem.name} @{row['budget']}", {})
        cell = methods.setdefault(f"{row['method']}@{row['batch']}", {})
        again = {m: v for m, v in zip(ledger.MARKS, curve.get("rescored", ()), strict=False) if v is not None}
        run = Run(row, value, problem.score(value, optimum), curve["n"], steps, rescored=again)
        cell[int(row["seed"])] = run
    return found


def shortened(runs: Runs, curves: dict[tuple[str, ...], dict[str, Any]]) -> Runs:
    """Return the runs, and at each budget also the runs of larger ones up to there: what slow peers stand beside.

    Not where incumbents are re-scored: the incumbents on the way are not kept.
    """
    result = {place: dict(methods) for place, methods in runs.items()}
    for place, methods in result.items():
        name, budget = place.split(" @")
        if problems.find(name).rescore:
            continue
        for other, longer in runs.items():
            if other.split(" @")[0] == name and int(other.split(" @")[1]) > int(budget):
                for method in longer.keys() - runs[place].keys():
                    cell = {seed: _until(run, int(budget), curves) for seed, run in longer[method].items()}
                    methods[method] = {seed: run for seed, run in cell.items() if run is not None}
    return result


def _until(run: Run, budget: int, curves: dict[tuple[str, ...], dict[str, Any]]) -> Run | None:
    """Return a run up to `budget` evaluations, None where it had reached nothing by then."""
    steps = sum(n <= budget for n in run.n)
    if not steps:
        return None
    values = curves[tuple(run.row[name] for name in ledger.KEY)]["best"]
    return Run(run.row, values[steps - 1], run.scores[steps - 1], run.n[:steps], run.scores[:steps], cut=True)


def best(runs: Runs) -> str:
    """One line for each problem and method: the value and the score, medians and quartiles."""
    lines = []
    for problem, methods in runs.items():
        ordered = sorted(methods.items(), key=lambda item: float(np.median([run.score for run in item[1].values()])))
        for method, cell in ordered:
            values = [run.value for run in cell.values()]
            scores = [run.score for run in cell.values()]
            lines.append((problem, method, _shown(values), _shown(scores), str(len(cell))))
    return _table(("problem", "method", "value", "score", "runs"), lines)


def ranks(runs: Runs) -> str:
    """One line for each problem and batch of the default: the best median, how sure, the default's place.

    The default at one batch stands beside the others, not beside itself at another. Only seeds that all have count.
    """
    lines = []
    for problem, methods in runs.items():
        for variant in [m for m in DEFAULT if m in methods] or [""]:
            full = _together({m: cell for m, cell in methods.items() if m == variant or m not in DEFAULT})
            if len(full) < 2:
                continue
            name, word, share = stats.standing(full)
            place = stats.ranks(full)
            n = len(next(iter(full.values())))
            listed = ", ".join(f"{m} {rank:.1f}" for m, rank in sorted(place.items(), key=lambda item: item[1]))
            shown = f"{variant} {place[variant]:.1f} of {len(place)}" if variant in place else ""
            lines.append((problem, f"{name} ({word}, {100 * share:.0f} %)", shown, listed, str(n)))
    return _table(("problem", "best median", "default's mean rank", "mean ranks", "seeds"), lines)


def targets(runs: Runs) -> str:
    """One line for each problem and method: evaluations to the problem's target, and how many runs got there."""
    lines = []
    for place, methods in runs.items():
        problem = problems.find(place.split(" @")[0])
        for method, cell in methods.items():
            counts = []
            for run in cell.values():
                optimum = float(run.row["optimum"]) if run.row["optimum"] else None
                counts.append(stats.reached(run.n, run.scores, problem.solved(optimum)))
            got = sum(map(math.isfinite, counts))
            lines.append((place, method, f"{problem.target:g}", _shown(counts), f"{got} of {len(counts)}"))
    return _table(("problem", "method", "target", "evaluations", "reached"), lines)


def rescored(runs: Runs) -> str:
    """One line for each problem, method and mark: the incumbents on episodes that the search has not seen."""
    lines = []
    for place, methods in runs.items():
        problem = problems.find(place.split(" @")[0])
        for method, cell in methods.items():
            for mark in ledger.MARKS:
                values = [run.rescored[mark] for run in cell.values() if mark in run.rescored]
                if values:
                    spread = 2 * float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else math.nan
                    got = sum(value >= problem.target for value in values)
                    told = f"{np.mean(values):.4g}", f"{spread:.2g}", f"{got} of {len(values)}"
                    lines.append((place, method, str(mark), *told))
    return _table(("problem", "method", "evaluations", "mean", "two standard errors", "at the target"), lines)


def harm(runs: Runs) -> str:
    """Do no harm: scores with the tree minus scores without, paired by seed."""
    lines = []
    for problem, methods in runs.items():
        for method, with_tree in methods.items():
            name, _, batch = method.rpartition("@")
            sampler, _, how = name.partition(", ")
            without = methods.get(f"{sampler}, no tree@{batch}", {}) if how in ("tree", "fenced") else {}
            if line := _difference(with_tree, without):
                lines.append((problem, sampler if how == "tree" else name, *line))
    return _differences("sampler", lines)


def parity(runs: Runs) -> str:
    """Our version of a published method: its scores minus those of its authors' code, paired by seed."""
    lines = []
    for problem, methods in runs.items():
        for ours, theirs in PARITY.items():
            if line := _difference(methods.get(ours, {}), methods.get(theirs, {})):
                *limits, verdict = line
                lines.append((problem, f"{ours} - {theirs}", *limits, BESIDE_THEIRS.get(verdict, verdict)))
    return _differences("pair", lines)


def _difference(one: Cell, other: Cell) -> tuple[str, ...]:
    """Return the cells of a table that say how much higher the scores of `one` are, none without a common seed."""
    both = sorted(one.keys() & other.keys())
    if not both:
        return ()
    gap = stats.difference([one[seed].score for seed in both], [other[seed].score for seed in both])
    return f"{gap.median:+.3f}", f"{gap.lower:+.3f}", f"{gap.upper:+.3f}", str(gap.n), gap.verdict


def _differences(what: str, lines: Sequence[Sequence[str]]) -> str:
    if not lines:
        return ""
    found = Counter(line[-1] for line in lines)
    count = ", ".join(f"{found[word]} {word}" for word in VERDICTS if word in found)
    header = ("problem", what, "median difference", "lower 95 %", "upper 95 %", "pairs", "verdict")
    return _table(header, lines) + f"\n\n{len(lines)} cells: {count}."


def saved(runs: Runs) -> str:
    """Evaluations after which the default is where a reference ends, over the reference's evaluations, seed by seed."""
    lines, shares = [], dict[tuple[str, str], list[float]]()
    for place, methods in runs.items():
        problem = place.split(" @")[0]
        for reference, allowed in REFERENCES.items():
            ended = methods.get(reference, {})
            for ours in DEFAULT:
                mine = _longest(runs, problem, ours)
                if both := sorted(mine.keys() & ended.keys()):
                    used = [int(ended[s].row["evaluations"]) for s in both]
                    # Both by their curves: a re-scored value exists at the end only.
                    counts = [stats.reached(mine[s].n, mine[s].scores, ended[s].scores[-1]) for s in both]
                    share = float(np.median([k / n for k, n in zip(counts, used, strict=True)]))
                    shares.setdefault((reference, ours), []).append(share)
                    told = f"{share:.2f}", f"{allowed:.2f}", str(len(both))
                    lines.append((place, reference, ours, _shown(counts), *told))
    if not lines:
        return ""
    header = ("problem", "reference", "ours", "evaluations", "share", "at most", "pairs")
    over = "; ".join(f"{o} of {r}: {np.median(found):.2f}" for (r, o), found in shares.items())
    return _table(header, lines) + f"\n\nMedian share over problems: {over}."


def cost(runs: Runs) -> str:
    """One line for each method and size: own milliseconds an evaluation."""
    found: dict[tuple[int, str, int], list[float]] = {}
    for methods in runs.values():
        for method, cell in methods.items():
            for run in cell.values():
                key = (int(run.row["dim"]), method, int(run.row["budget"]))
                found.setdefault(key, []).append(float(run.row["own_ms"]))
    lines = [(str(d), name, str(n), _shown(ms), str(len(ms))) for (d, name, n), ms in sorted(found.items())]
    return _table(("d", "method", "evaluations", "own ms an evaluation", "runs"), lines)


def failures(rows: Iterable[dict[str, str]]) -> str:
    """Every run that failed or was too slow."""
    bad = [row for row in rows if row["status"] != "ok"]
    lines = [(row["problem"], row["method"], row["seed"], row["status"], row["message"]) for row in bad]
    return _table(("problem", "method", "seed", "status", "message"), lines) if lines else ""


TABLES: dict[str, Callable[..., str]] = {
    "best": best, "ranks": ranks, "targets": targets, "rescored": rescored, "harm": harm, "parity": parity,
    "saved": saved, "time": cost, "failures": failures,
}  # fmt: skip
TITLES = {
    "best": "Best values", "ranks": "Who is first", "targets": "Evaluations to target",
    "rescored": "Re-scored incumbents", "harm": "With the tree, and without", "parity": "Beside the authors' code",
    "saved": "Evaluations saved", "time": "Own time", "failures": "Failed runs",
}  # fmt: skip


def _together(methods: dict[str, Cell]) -> dict[str, list[float]]:
    """Return the scores on the seeds that all share; methods with less than half of the default's seeds are left out.

    Where the default has not run, less than half of the most seeds.
    """
    ours = [len(methods[name]) for name in DEFAULT if name in methods]
    most = max(ours or [len(cell) for cell in methods.values()])  # a pair of `harm` may have more, for its own sake
    full = {name: cell for name, cell in methods.items() if 2 * len(cell) >= most}
    seeds = sorted(set.intersection(*(set(cell) for cell in full.values())))
    return {name: [cell[seed].score for seed in seeds] for name, cell in full.items()} if seeds else {}


def _longest(runs: Runs, problem: str, method: str) -> Cell:
    """Return the method's runs of the largest budget on a problem."""
    cells = {int(p.split(" @")[1]): m[method] for p, m in runs.items() if p.split(" @")[0] == problem and method in m}
    return cells[max(cells)] if cells else {}


def _shown(values: Sequence[float]) -> str:
    low, middle, high = (f"{value:.3g}" for value in stats.quartiles(values))
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return report.table(header, lines) if lines else ""


if __name__ == "__main__":
    main()
