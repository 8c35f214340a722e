"""The ledger of a laboratory: what was told by sheets, and what its journal holds."""

import math
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.robustness.attacks.sheet_lines import Line, Plan

ROUNDING = 3e-4  # of the numbers of a sheet's points: 1e-6 of the largest range, 200, and some


@dataclass
class Ledger:
    """Rows that were told: trial, point, values, violations, message, note; and the points that are pending."""

    plan: Plan
    rows: list[tuple[Any, ...]]
    pending: dict[int, Any]

    @classmethod
    def read(cls, journal: Path, plan: Plan) -> "Ledger":
        """Return what a journal holds; of the notes their texts."""
        result = lamcts.load(journal)
        history, rows = result.history, []
        for i, (row, point) in enumerate(zip(result.rows(), history.points, strict=True)):
            texts = [text for text in history.metrics.get(i, {}).values() if isinstance(text, str)]
            numbers = np.reshape(history.values[i], -1).tolist(), np.reshape(history.constraints[i], -1).tolist()
            message = str(row["message"]).removeprefix("EvaluationFailed: ")
            rows.append((int(history.trial[i]), point, *numbers, message, "".join(texts)))
        return cls(plan, rows, {trial.id: trial.point for trial in lamcts.Optimizer.load(journal).pending})

    def told(self, sheet: list[Line]) -> "Ledger":
        """Return the ledger after a sheet."""
        after = Ledger(self.plan, [*self.rows], {**self.pending})
        for line in sheet:
            own, place = line.row(), self._place(line)
            if line.empty:
                continue
            if place is not None and not self._differs(line, place):  # a note may be added
                after.rows[place] = (*self.rows[place][:5], self.rows[place][5] or own[5])
            elif place is None:
                after.pending.pop(own[0], None)
                after.rows.append(own)
            else:
                after.rows[place] = (*own[:5], own[5] or self.rows[place][5])
        return after

    def corrects(self, sheet: list[Line]) -> bool:
        """Return whether a sheet has other values for what was told, and not only missing ones."""
        told = [(line, place) for line in sheet if not line.empty and (place := self._place(line)) is not None]
        return any(self._differs(line, place) and not self._completes(line, place) for line, place in told)

    def _place(self, line: Line) -> int | None:
        """Return the row of a line that was told."""
        if line.trial is not None:
            places = [i for i, row in enumerate(self.rows) if row[0] == line.trial]
        else:
            places = [i for i, row in enumerate(self.rows) if not _unlike(row[:4], line.row()[:4])]
        return places[-1] if places else None

    def _completes(self, line: Line, place: int) -> bool:
        """Return whether a line has the point of its row, and other numbers only where none was told."""
        (_, point, *before), (_, same, *after) = self.rows[place][:4], line.row()[:4]
        pairs = zip(chain(*before), chain(*after), strict=True)
        return not _unlike(point, same) and all(math.isnan(old) or not _unlike(old, new) for old, new in pairs)

    def _differs(self, line: Line, place: int) -> bool:
        return bool(_unlike(self.rows[place][1:4], line.row()[1:4]))

    def difference(self, other: "Ledger") -> str:
        """Return where two ledgers differ."""
        if [*self.pending] != [*other.pending] or len(self.rows) != len(other.rows):
            return f"{len(self.rows)} rows and pending {[*self.pending]}, {len(other.rows)} and {[*other.pending]}"
        pairs = enumerate(zip(self.rows, other.rows, strict=True))
        return "".join(f"row {i}: {mine} and {theirs}; " for i, (mine, theirs) in pairs if _unlike(mine, theirs))


def _unlike(mine: Any, theirs: Any, most: float = 1e-9) -> bool:
    """Return whether two values differ by more than rounding: sheets round the numbers of points, which are dicts."""
    if isinstance(mine, float) and isinstance(theirs, (int, float)):
        return not (math.isclose(mine, theirs, rel_tol=most, abs_tol=most) or (math.isnan(mine) and math.isnan(theirs)))
    if isinstance(mine, dict):
        return [*mine] != [*theirs] or any(_unlike(mine[name], theirs[name], ROUNDING) for name in mine)
    if isinstance(mine, (list, tuple)):
        return len(mine) != len(theirs) or any(_unlike(*pair, most) for pair in zip(mine, theirs, strict=True))
    return type(mine) is not type(theirs) or bool(mine != theirs)
