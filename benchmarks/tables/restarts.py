"""The tables of `python -m benchmarks.optimizer.restarts --table`: the default and its peers.

A gap is the distance from the optimum (0 in all problems here that know it), or what is missing of the best known
value. Better is what has a median gap that is lower by 5 % of the other's and, seed by seed, p < 0.05 in Wilcoxon's
test of the scores (`Problem.score`); worse is the mirror image. Runs count at all marks up to their budget; of several
the shortest.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import problems
from benchmarks.plan.restarts import PEERS
from benchmarks.tables import stats
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown

Row = dict[str, str]
Floats = NDArray[np.float64]
Cell = dict[str, float]  # values by seed
LEVEL, SHARE = 0.05, 0.05  # of the test; of the gap: both as issued for this question
FEWEST = 6  # pairs: with fewer Wilcoxon's test cannot come below LEVEL


class Verdict(NamedTuple):
    """ "better", "worse" or "level", and what the test says."""

    word: str
    p: float


def tables(rows: Sequence[Row], marks: Sequence[int], names: Mapping[str, str], batch: int) -> str:
    """Return all tables; `names` says which rows are the "old", the "new" and the one with a "tree"."""
    parts = [(f"After {m} evaluations", medians(rows, m, names, batch)) for m in marks]
    baselines = [row for row in rows if row["method"] in (names["new"], *PEERS)]
    parts += [(f"Beside peers after {m} evaluations, medians", beside(baselines, m)) for m in marks]
    parts += [("Rewards: the worst quarter", quarters(rows, marks, names, batch))]
    parts += [("One by one beside tens", one_by_one(rows, marks, names["new"]))]
    parts += [("With and without a tree", with_tree(rows, marks, names, batch))]
    parts += [("Ends in the deepest funnel", deepest(rows))]
    parts += [("Mean rank over problems", ranked(baselines, marks))]
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts if text)


def medians(rows: Sequence[Row], mark: int, names: Mapping[str, str], batch: int) -> str:
    """One line a problem: median gaps of the three, and who is better than the old default; then how many are.

    Where the new default has rows, those of the old one count on the same seeds.
    """
    lines, words = [], []
    for name in dict.fromkeys(row["problem"] for row in rows):
        three = {key: values(rows, name, f"{method}@{batch}", mark) for key, method in names.items()}
        if not three["old"]:
            continue
        if both := three["old"].keys() & three["new"].keys():
            three |= {key: {seed: three[key][seed] for seed in both} for key in ("old", "new")}
        verdicts = [verdict(name, three["new"], three["old"]), verdict(name, three["tree"], three["new"])]
        shown = [_median(name, three[key]) for key in ("old", "new", "tree")]
        lines.append((name, *shown, *(f"{v.word}, {v.p:.2g}" if v else "" for v in verdicts), str(len(three["old"]))))
        words += [verdicts[0].word] if verdicts[0] else []
    header = ("problem", *names.values(), "new beside old, p", "tree beside new, p", "seeds")
    counts = [f"{words.count(word)} {word}" for word in ("better", "worse", "level")]
    return markdown(header, lines) + (f"\n\nOf {len(words)}: {', '.join(counts)}." if words else "")


def beside(rows: Sequence[Row], mark: int) -> str:
    """One line for each problem that several methods have run: medians of all, on the seeds that all of them have."""
    found = {name: cells(rows, name, mark) for name in dict.fromkeys(row["problem"] for row in rows)}
    found = {name: each for name, each in found.items() if len(each) > 1}
    methods = sorted({method for each in found.values() for method in each})
    lines = [
        (name, *(_median(name, each.get(method, {})) for method in methods), str(len(next(iter(each.values())))))
        for name, each in found.items()
    ]
    return markdown(("problem", *methods, "seeds"), lines) if lines else ""


def one_by_one(rows: Sequence[Row], marks: Sequence[int], method: str) -> str:
    """One line a problem and mark: medians in batches of ten and one by one on the seeds of both, and who is better."""
    lines, lower, higher = [], dict.fromkeys(marks, 0), dict.fromkeys(marks, 0)
    for name in dict.fromkeys(row["problem"] for row in rows):
        for mark in marks:
            tens, ones = (values(rows, name, f"{method}@{batch}", mark) for batch in (10, 1))
            if not (seeds := tens.keys() & ones.keys()):
                continue
            tens, ones = ({seed: cell[seed] for seed in seeds} for cell in (tens, ones))
            pairs = [(_score(name, ones[seed]), _score(name, tens[seed])) for seed in seeds]
            lower[mark] += sum(one < ten for one, ten in pairs)
            higher[mark] += sum(one > ten for one, ten in pairs)
            found = verdict(name, ones, tens)
            said = f"{found.word}, {found.p:.2g}" if found else ""
            lines.append((name, str(mark), _median(name, tens), _median(name, ones), said, str(len(seeds))))
    header = ("problem", "at", "in tens", "one by one", "one by one beside tens, p", "seeds")
    counts = [
        f"{lower[mark]} lower and {higher[mark]} higher at {mark}" for mark in marks if lower[mark] + higher[mark]
    ]
    return markdown(header, lines) + f"\n\nRuns one by one: {', '.join(counts)}." if lines else ""


def quarters(rows: Sequence[Row], marks: Sequence[int], names: Mapping[str, str], batch: int) -> str:
    """One line for each reward and mark: the best value of the worst quarter of runs."""
    lines = []
    for name in dict.fromkeys(row["problem"] for row in rows if problems.find(row["problem"]).span):
        for mark in marks:
            found = {key: values(rows, name, f"{method}@{batch}", mark) for key, method in names.items()}
            if found["new"]:
                cells = (f"{np.quantile([*cell.values()], 0.25):.3g}" if cell else "" for cell in found.values())
                lines.append((name, str(mark), *cells, str(len(found["new"]))))
    return markdown(("problem", "at", *names.values(), "seeds"), lines) if lines else ""


def with_tree(rows: Sequence[Row], marks: Sequence[int], names: Mapping[str, str], batch: int) -> str:
    """Say how many runs a tree changed, and of how many the end was lower with it; "" where none was run with one."""
    n, same, lower, higher = 0, 0, 0, 0
    for name in dict.fromkeys(row["problem"] for row in rows):
        off, on = ([values(rows, name, f"{names[key]}@{batch}", mark) for mark in marks] for key in ("new", "tree"))
        for seed in on[0].keys() & off[0].keys():
            pairs = [(a[seed], b[seed]) for a, b in zip(on, off, strict=True) if seed in a and seed in b]
            with_it, without = (_score(name, value) for value in pairs[-1])
            n, same = n + 1, same + all(a == b for a, b in pairs)
            lower, higher = lower + (with_it < without), higher + (with_it > without)
    ended = f"{lower} ended lower with it and {higher} higher"
    return f"A tree left {same} of {n} runs as they were at all marks; {ended}." if n else ""


def cells(rows: Sequence[Row], problem: str, mark: int) -> dict[str, Cell]:
    """Return what every METHOD@BATCH had reached at a mark on the seeds that all of them have."""
    methods = sorted({f"{row['method']}@{row['batch']}" for row in rows if row["problem"] == problem})
    found = {method: cell for method in methods if (cell := values(rows, problem, method, mark))}
    shared = set.intersection(*map(set, found.values())) if found else set()
    return {method: {seed: cell[seed] for seed in sorted(shared)} for method, cell in found.items()} if shared else {}


def deepest(rows: Sequence[Row]) -> str:
    """One line for each function of several funnels: each method's share of runs that ended in the deepest."""
    ended: dict[str, dict[str, list[bool]]] = {}
    for row in rows:
        if row["funnel"]:
            cell = ended.setdefault(row["problem"], {}).setdefault(f"{row['method']}@{row['batch']}", [])
            cell.append(row["funnel"] == "0")
    methods = sorted({method for found in ended.values() for method in found})
    share = lambda cell: f"{np.mean(cell):.2f} of {len(cell)}" if cell else ""  # noqa: E731
    lines = [(name, *(share(found.get(method)) for method in methods)) for name, found in ended.items()]
    return markdown(("problem", *methods), lines)


def ranked(rows: Sequence[Row], marks: Sequence[int]) -> str:
    """One line a method: its mean rank at each mark over those problems that have the most methods."""
    columns = {mark: ranks(rows, mark) for mark in marks}
    columns = {mark: column for mark, column in columns.items() if column}
    methods = sorted({method for column in columns.values() for method in column})
    lines = [(m, *(f"{column[m]:.2f}" if m in column else "" for column in columns.values())) for m in methods]
    return markdown(("method", *(f"at {mark}" for mark in columns)), lines)


def ranks(rows: Sequence[Row], mark: int) -> dict[str, float]:
    """Return each method's rank, 1 the best, meant over the seeds that all have and then over problems."""
    found = []
    for name in dict.fromkeys(row["problem"] for row in rows):
        if each := cells(rows, name, mark):
            found.append(stats.ranks({m: [_score(name, v) for v in cell.values()] for m, cell in each.items()}))
    most = max((len(each) for each in found), default=0)
    kept = [each for each in found if len(each) == most > 1]
    methods = sorted(set.intersection(*map(set, kept))) if kept else []
    return {method: float(np.mean([each[method] for each in kept])) for method in methods}


def values(rows: Sequence[Row], problem: str, method: str, mark: int) -> Cell:
    """Return what METHOD@BATCH had reached at a mark, by seed; of several budgets the smallest that has it."""
    found = {}
    for row in sorted(rows, key=lambda row: -int(row["budget"])):
        if row["problem"] == problem and f"{row['method']}@{row['batch']}" == method and row.get(f"best_{mark}"):
            found[row["seed"]] = float(row[f"best_{mark}"])
    return found


def verdict(problem: str, ours: Cell, theirs: Cell) -> Verdict | None:
    """Return whether `ours` is better, worse or level, None with too few pairs."""
    if len(seeds := sorted(ours.keys() & theirs.keys())) < FEWEST:
        return None
    pairs = [(_score(problem, ours[s]), _score(problem, theirs[s])) for s in seeds]
    p = wilcoxon([a - b for a, b in pairs])
    a, b = (float(np.median([_gap(problem, cell[s]) for s in seeds])) for cell in (ours, theirs))
    if p < LEVEL and a < (1 - SHARE) * b:
        return Verdict("better", p)
    return Verdict("worse" if p < LEVEL and b < (1 - SHARE) * a else "level", p)


def _score(problem: str, value: float) -> float:
    found = problems.find(problem)
    return found.score(value, None if found.span else 0.0)


def _gap(problem: str, value: float) -> float:
    found = problems.find(problem)
    return max(found.span[1] - value, 0.0) if found.span else max(value, problems.SMALLEST_REGRET)


def _median(problem: str, cell: Cell) -> str:
    return f"{np.median(list(cell.values())):.3g}" if cell else ""
