"""Tables of compress.csv: accuracy against received bits, paired differences, and the goals."""

from collections.abc import Iterator
from statistics import mean

from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

Rows = list[dict[str, str]]
Cells = dict[str, dict[str, float]]  # accuracy by method and seed

BASE = "fp32 ring"
OURS = "top-k 1 %, momentum"  # chosen on digits with seeds 0 to 2
PEERS = ("PowerSGD r1", "PowerSGD r2", "PowerSGD r4")
WITHIN, BITS = 0.3, 1.2  # points of accuracy, and received bits for a number: the goal
SHARE = 10  # per cent of a step: the goal for the hook's own time
HEADER = ("method", "accuracy (range)", "minus fp32 (95 % limits)", "bits", "times fewer", "hook ms", "share of a step")


def text(rows: Rows) -> str:
    """Return a table for each task and the goals."""
    parts = [f"### {task}, {_seeds(rows, task)}\n\n{markdown(HEADER, lines(rows, task))}" for task in tasks_of(rows)]
    return "\n\n".join([*parts, summary(rows), *goals(rows)])


def summary(rows: Rows) -> str:
    """Return the table of docs/compress.md: means of accuracy and of received bits by method and task."""
    tasks = tasks_of(rows)
    found = {task: accuracies(rows, task) for task in tasks}
    methods = [name for name in found[tasks[0]] if all(name in found[task] for task in tasks)]
    cells = [
        (name, *(f"{mean(found[task][name].values()):.1f} ({_mean(rows, task, name, 'bits'):.3g})" for task in tasks))
        for name in methods
    ]
    return markdown(("method", *(f"{task}, {_seeds(rows, task)}" for task in tasks)), cells)


def tasks_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["task"] for row in rows))


def lines(rows: Rows, task: str) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a task, by method."""
    found, base = accuracies(rows, task), _mean(rows, task, BASE, "bits")
    for method, by_seed in found.items():
        values = list(by_seed.values())
        bits, hook, step = (_mean(rows, task, method, name) for name in ("bits", "hook_ms", "step_ms"))
        yield (
            method,
            f"{mean(values):.1f} ({min(values):.1f}-{max(values):.1f})",
            "" if method == BASE else signed(against(found, method, BASE)),
            f"{bits:.3g}",
            f"{base / bits:.3g}",
            f"{hook:.2g}",
            f"{100 * hook / step:.0f} %",
        )


def goals(rows: Rows) -> Iterator[str]:
    """Yield a sentence on each goal."""
    near, ahead, quick = [], [], []
    for task in tasks_of(rows):
        found = accuracies(rows, task)
        gap, bits = against(found, OURS, BASE), _mean(rows, task, OURS, "bits")
        near.append((gap.median >= -WITHIN and bits <= BITS, f"{task} {signed(gap)} at {bits:.3g} bits"))
        gaps = {peer: against(found, OURS, peer) for peer in PEERS}
        fewer = all(bits <= _mean(rows, task, peer, "bits") for peer in PEERS)
        peers = ", ".join(f"{peer.split()[-1]} {signed(one)}" for peer, one in gaps.items())
        ahead.append((fewer and all(one.median > 0 for one in gaps.values()), f"{task} {peers}"))
        share = 100 * _mean(rows, task, OURS, "hook_ms") / _mean(rows, task, OURS, "step_ms")
        quick.append((share <= SHARE, f"{task} {share:.0f} %"))
    yield _goal(f"{OURS}: within {WITHIN} points of fp32 at {BITS} bits or fewer", near)
    yield _goal(f"{OURS}: ahead of PowerSGD of each rank at no more bits", ahead)
    yield _goal(f"{OURS}: the hook takes at most {SHARE} % of a step", quick)


def accuracies(rows: Rows, task: str) -> Cells:
    """Return the accuracies of a task by method and seed."""
    found: Cells = {}
    for row in rows:
        if row["task"] == task:
            found.setdefault(row["method"], {})[row["seed"]] = float(row["accuracy"])
    return found


def against(found: Cells, method: str, other: str) -> stats.Difference:
    """Return by how many points a method is ahead of another, paired by seed."""
    both = sorted(found[method].keys() & found[other].keys())
    return stats.difference([found[method][seed] for seed in both], [found[other][seed] for seed in both])


def signed(gap: stats.Difference) -> str:
    """Return a median with its limits."""
    return f"{gap.median:+.1f} ({gap.lower:+.1f} to {gap.upper:+.1f})"


def _goal(title: str, by_task: list[tuple[bool, str]]) -> str:
    """Return on how many tasks a goal is met, and the numbers."""
    return (
        f"{title}: {sum(met for met, _ in by_task)} of {len(by_task)} tasks; {'; '.join(note for _, note in by_task)}."
    )


def _mean(rows: Rows, task: str, method: str, column: str) -> float:
    return mean(float(row[column]) for row in rows if (row["task"], row["method"]) == (task, method))


def _seeds(rows: Rows, task: str) -> str:
    counts = {len(seeds) for seeds in accuracies(rows, task).values()}
    return f"{min(counts)} to {max(counts)} seeds" if len(counts) > 1 else f"{counts.pop()} seeds"
