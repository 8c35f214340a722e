"""For libraries that ask for the objective and the constraints of a point one after the other."""

from typing import Any

import numpy as np

from benchmarks.harness.measured import MeasuredSearch

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Remembered:
    """The loss and the excesses at rows of the unit cube; what was asked before is not evaluated again."""

    def __init__(self, search: MeasuredSearch) -> None:
        self.search = search
        self._known: dict[bytes, tuple[float, Floats]] = {}

    def loss(self, u: Any) -> float:
        return self._at(u)[0]

    def excess(self, u: Any) -> Floats:
        """Return g [c]."""
        return self._at(u)[1].copy()

    def _at(self, u: Any) -> tuple[float, Floats]:
        row = np.clip(np.asarray(u, float), 0, 1) + 0.0  # + 0.0: so that -0.0 is 0.0
        key = row.tobytes()
        if key not in self._known:
            f, g = self.search.at(row)
            self._known[key] = float(f[0, 0]), g[0]
        return self._known[key]
