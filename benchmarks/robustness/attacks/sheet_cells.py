"""The cells of a sheet: lines as they are written, and wrong ones."""

import math
from typing import NamedTuple

import numpy as np

from benchmarks.robustness.attacks.sheet_lines import Line, Plan
from benchmarks.robustness.attacks.verdict import pick


class Names(NamedTuple):
    """The columns of a sheet, by their place."""

    head: list[str]
    plan: Plan
    run: str  # in the last column of each line

    @property
    def values(self) -> int:
        """The place of the first value."""
        return 1 + len(self.plan.decimals)

    def rows(self, lines: list[Line], comma: bool = False) -> list[list[str]]:
        """Return the names, and the cells of lines."""
        return [self.head, *(self._row(line, comma) for line in lines)]

    def _row(self, line: Line, comma: bool) -> list[str]:
        def sign(text: str) -> str:
            return text.replace(".", ",") if comma else text

        cells = [sign(cell) if yes else cell for cell, yes in zip(line.cells, self.plan.decimals, strict=True)]
        cells += ["" if math.isnan(number) else sign(repr(number)) for number in [*line.values, *line.quantities]]
        rest = [""] * (len(self.head) - 4 - len(cells))
        return ["" if line.trial is None else str(line.trial), *cells, *rest, line.message, line.note, self.run]


def spoiled(rows: list[list[str]], names: Names, rng: np.random.Generator) -> str:
    """Make a line wrong; return how."""
    row, at = pick(rng, rows[1:]), names.values
    row[at:-3] = ["1.5"] * (len(row) - at - 3)
    row[-3] = ""
    ways: dict[str, tuple[int, str]] = {
        "a text as a value": (at, "much"),
        "an unknown trial": (0, "77777"),
        "a text as a trial": (0, "one"),
        "a part of a trial": (0, "0.5"),
        "a value and a message": (-3, "late"),
        "a line of another run": (-1, "bcdfghjk"),
        "an amount out of its range": (1, "1e9"),
        "no amount": (1, ""),
        "a cell too many": (len(row), "?"),
    }
    less = ["a column less"] if names.head[1] == names.plan.space.names[0] else []  # else another may have that name
    what = pick(rng, [*ways, "a trial twice", *less])
    if what in ways:
        place, text = ways[what]
        row[place : place + 1 or None] = [text]
    elif what == "a column less":
        rows[:] = [row[:1] + row[2:] for row in rows]
    else:
        row[0] = "0"
        rows.append([*row[:at], *["2.5"] * (len(row) - at - 3), "", "", names.run])
    return what
