"""Tables of gradient compression: accuracy against received bits, paired differences, the goals, shares of a step."""

from collections.abc import Iterator
from statistics import mean

from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

Rows = list[dict[str, str]]
Cells = dict[str, dict[str, float]]  # accuracy by method and seed

BASE = "fp32 ring"
OURS = ("top-k 1 %, momentum", "top-k 1.4 %, 4 bits, momentum")  # chosen on digits: seeds 0 to 2, and the search
PEERS = ("PowerSGD r1", "PowerSGD r2", "PowerSGD r4")
WITHIN, BITS = 0.3, 1.2  # points of accuracy, and received bits for a number: the goal
HEADER = ("method", "accuracy (range)", "minus fp32 (95 % limits)", "bits", "times fewer")


def text(rows: Rows) -> str:
    """Return a table for each task and the goals."""
    parts = [f"### {task}, {_seeds(rows, task)}\n\n{markdown(HEADER, lines(rows, task))}" for task in tasks_of(rows)]
    return "\n\n".join([*parts, summary(rows), differences(rows), "\n".join(f"- {goal}" for goal in goals(rows))])


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


def shares(rows: Rows) -> str:
    """Return the table of the hook's share of a step by method and setting, from compress_hook_share.csv."""
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    found = {(row["method"], row["setting"]): f"{float(row['share']):.0f} %" for row in rows}
    methods = dict.fromkeys(row["method"] for row in rows)
    return markdown(("method", *settings), [(name, *(found[name, one] for one in settings)) for name in methods])


def tasks_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["task"] for row in rows))


def lines(rows: Rows, task: str) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a task, by method."""
    found, base = accuracies(rows, task), _mean(rows, task, BASE, "bits")
    for method, by_seed in found.items():
        values = list(by_seed.values())
        bits = _mean(rows, task, method, "bits")
        yield (
            method,
            f"{mean(values):.1f} ({min(values):.1f}-{max(values):.1f})",
            "" if method == BASE else signed(against(found, method, BASE)),
            f"{bits:.3g}",
            f"{base / bits:.3g}",
        )


def differences(rows: Rows) -> str:
    """Return the table of paired differences of our methods by task, in points of accuracy."""
    lines = []
    for method in OURS:
        for task in tasks_of(rows):
            found = accuracies(rows, task)
            gaps = (signed(against(found, method, other)) for other in (BASE, *PEERS))
            lines.append((method, task, f"{_mean(rows, task, method, 'bits'):.3g}", *gaps))
    return markdown(("method", "task", "bits", *(f"minus {other}" for other in (BASE, *PEERS))), lines)


def goals(rows: Rows) -> Iterator[str]:
    """Yield a sentence on each goal for each of our methods."""
    tasks = tasks_of(rows)
    for method in OURS:
        near = [_gap(rows, task, method, BASE) >= -WITHIN and _fewer(rows, task, method, BITS) for task in tasks]
        yield f"{method}: within {WITHIN} points of fp32 at {BITS} bits or fewer on {sum(near)} of {len(tasks)} tasks."
        for peer in PEERS:
            limit = {task: _mean(rows, task, peer, "bits") for task in tasks}
            ahead = [_gap(rows, task, method, peer) > 0 and _fewer(rows, task, method, limit[task]) for task in tasks]
            yield f"{method}: ahead of {peer}, with fewer bits, on {sum(ahead)} of {len(tasks)} tasks."


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


def _gap(rows: Rows, task: str, method: str, other: str) -> float:
    return against(accuracies(rows, task), method, other).median


def _fewer(rows: Rows, task: str, method: str, bits: float) -> bool:
    """Return whether a method receives at most so many bits."""
    return _mean(rows, task, method, "bits") <= bits


def _mean(rows: Rows, task: str, method: str, column: str) -> float:
    return mean(float(row[column]) for row in rows if (row["task"], row["method"]) == (task, method))


def _seeds(rows: Rows, task: str) -> str:
    counts = {len(seeds) for seeds in accuracies(rows, task).values()}
    return f"{min(counts)} to {max(counts)} seeds" if len(counts) > 1 else f"{counts.pop()} seeds"
