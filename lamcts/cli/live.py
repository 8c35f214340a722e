"""Live memory by step as rows of blocks, for terminals: a row a plan, forward and backward pass apart."""

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lamcts.neural.memory import Report, size_text

BLOCKS, PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*#@"  # the second where the terminal's encoding lacks the first
WIDTH = 36  # columns of each pass: with the names, two fit into 100


def drawn(reports: Sequence[Report], budget_bytes: int | None = None) -> Iterator[str]:
    """Yield lines of text: a head, and a row for each report with its peak.

    A column shows the most of the steps in it, as a share of the largest peak, and "always there" is part of it.
    """
    blocks, highest = _blocks(), max(one.total_bytes for one in reports)
    name = max(len(one.plan.name) for one in reports)
    within = "" if budget_bytes is None else f"; the budget is at {budget_bytes / highest:.0%}"
    yield f"live memory by step, up to {size_text(highest)}{within}; forward | backward"
    for one in reports:
        live = [size + one.graph.outside_bytes for size in one.live_bytes]
        begin = one.graph.forward_count
        passes = (_row(part, highest, blocks) for part in (live[:begin], live[begin:]))
        yield f"  {one.plan.name.ljust(name)}  {'|'.join(passes)}  {size_text(one.total_bytes)}"


def _row(live: Sequence[int], highest: int, blocks: str) -> str:
    """Return a row of blocks, at most WIDTH of them; ends of columns are rounded, so that each step is in one."""
    columns = min(WIDTH, len(live))
    ends = [round(i * len(live) / columns) for i in range(columns + 1)]
    most = [max(live[begin:end]) for begin, end in pairwise(ends)]
    return "".join(blocks[-(-size * (len(blocks) - 1) // highest)] for size in most)


def _blocks() -> str:
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return PLAIN
    return BLOCKS
