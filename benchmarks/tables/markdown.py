"""Tables in markdown, and how numbers stand in them."""

from collections.abc import Iterable, Sequence

from benchmarks.tables import stats


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a markdown table, "" where it would have no line."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows) if len(rows) > 2 else ""


def spread(values: Sequence[float]) -> str:
    """Return "median (lower to upper quartile)", of one value that alone."""
    low, middle, high = (f"{value:.3g}" for value in stats.quartiles(values))
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle
