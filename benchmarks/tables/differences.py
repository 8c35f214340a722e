"""Paired differences: does the tree harm, and does our version of a method keep up with its authors'?"""

from collections import Counter
from collections.abc import Sequence

from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown
from benchmarks.tables.registry import table
from benchmarks.tables.runs import Cell, Recorded

PARITY = {"lamcts turbo, no tree@10": "reference TuRBO-1@10"}  # ours and theirs, the same method
VERDICTS = ("better", "harmless", "no worse", "undecided", "harmed", "worse")
BESIDE_THEIRS = {"harmless": "no worse", "harmed": "worse"}  # what the verdicts on the tree mean of two versions


@table("harm", "With the tree, and without")
def harm(recorded: Recorded) -> str:
    """Do no harm: scores with the tree minus scores without, paired by seed."""
    lines = []
    for place, methods in recorded.runs.items():
        for method, with_tree in methods.items():
            name, _, batch = method.rpartition("@")
            sampler, _, how = name.partition(", ")
            without = methods.get(f"{sampler}, no tree@{batch}", {}) if how in ("tree", "fenced") else {}
            if line := _difference(with_tree, without):
                lines.append((str(place), sampler if how == "tree" else name, *line))
    return _differences("sampler", lines)


@table("parity", "Beside the authors' code")
def parity(recorded: Recorded) -> str:
    """Our version of a published method: its scores minus those of its authors' code, paired by seed."""
    lines = []
    for place, methods in recorded.runs.items():
        for ours, theirs in PARITY.items():
            if line := _difference(methods.get(ours, {}), methods.get(theirs, {})):
                *limits, verdict = line
                lines.append((str(place), f"{ours} - {theirs}", *limits, BESIDE_THEIRS.get(verdict, verdict)))
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
    return markdown(header, lines) + f"\n\n{len(lines)} cells: {count}."
