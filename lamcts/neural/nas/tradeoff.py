"""The values of a table against one of its costs, with the whole front known."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.neural.nas.objective import DIGITS, TableObjective
from lamcts.objectives.base import TradeOff
from lamcts.types import Floats

ACCURACY = "accuracy_percent"  # the name of the value among the objectives


@dataclass(frozen=True, eq=False)
class TableTradeOff(TradeOff):
    """The searched value of a table against one of its costs; the whole front is known.

    Parameters
    ----------
    objective : TableObjective
        The table.
    cost : str
        The name of the cost in the dict that `objective.cost` returns.
    name : str, default ""
        The name of the pair; empty: "OBJECTIVE against COST".
    value : str, default "accuracy_percent"
        The name of the value among the objectives.
    """

    objective: TableObjective
    value: str = ACCURACY

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost not in self.objective.others:
            known = ", ".join(self.objective.others) or "none"
            raise ValueError(f"against: expected a cost that {self.objective.name} has ({known}), got {self.cost!r}")
        if not self._known.any():
            raise ValueError(f"against: expected networks with {self.cost} and a value in the table, got none")

    @property
    def reference(self) -> dict[str, float]:
        worst = self._sign * float(self._signed.min())
        return {self.value: worst, self.cost: float(self._column[self._known].max())}

    @cached_property
    def hypervolume(self) -> float:
        """The hypervolume of the whole table."""
        column, least = self._column[self._known], self.reference
        cheapest = np.lexsort((-self._signed, column))
        best = np.maximum.accumulate(self._signed[cheapest])  # up to each cost
        widths = np.diff(column[cheapest], append=least[self.cost])
        return float(widths @ (best - self._signed.min()))

    def fingerprint(self) -> dict[str, Any]:
        content = hashlib.sha256(np.ascontiguousarray(self._column).tobytes()).hexdigest()[:DIGITS]
        return {**super().fingerprint(), "costs": content}

    @cached_property
    def _column(self) -> Floats:
        return np.asarray(self.objective.others[self.cost], float)  # [N]

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        return np.isfinite(self._column) & np.isfinite(self.objective.searched)  # [N]

    @property
    def _sign(self) -> int:
        return 1 if self.objective.maximize else -1

    @property
    def _signed(self) -> Floats:
        """The values, higher is better, [K]."""
        result: Floats = self._sign * self.objective.searched[self._known]
        return result
