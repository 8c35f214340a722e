"""A process that follows a local search: which rows it holds, and when its hyper-parameters are fitted again.

Letters: n rows in the model, d coordinates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.models.fit import Prior, fit
from lamcts.models.gp import Hyper, Posterior
from lamcts.models.scale import Scale
from lamcts.observations import Floats, Observations, Rows

REFIT_ROWS = 25  # new rows after which a refit is always due
SHORT, SHORT_NOISE = 8.0, 1e-3  # a start at which ripples are shape, not noise
CHUNK = 2000  # rows of `seen` whose distances are taken at once


@dataclass(frozen=True)
class Effort:
    """How much work a local model may spend. Its cost stays flat while `seen` grows.

    rows: most rows in the model (None: 10 d, between 512 and 1000); a new selection keeps 3/4 of them, so that results
    can be added for a while. fit_rows: most rows (the best of the model's) that the hyper-parameters are fitted to
    (None: 5 d, between 256 and 500). growth: a refit is due when the model has grown by this share, or by 25 rows.
    iterations: steps of L-BFGS. afresh: every so many fits two more start from the prior's mode and from short lengths,
    and the best is kept: a warm start alone gets stuck on rugged functions. device: None computes in closed form; "cpu"
    or "cuda" through gpytorch (extra: torch), which pays on a GPU for models of thousands of rows.
    """

    rows: int | None = None
    fit_rows: int | None = None
    growth: float = 0.1
    iterations: int = 15
    afresh: int = 3
    device: str | None = None

    def __post_init__(self) -> None:
        _route(self.device)  # what is missing is said where the device is asked for, not after the initial design

    def limits(self, dim: int) -> tuple[int, int]:
        """Return the most rows in the model and in a fit, for `dim` coordinates."""
        rows = min(max(10 * dim, 512), 1000) if self.rows is None else self.rows
        return rows, min(max(5 * dim, 256), 500) if self.fit_rows is None else self.fit_rows


class LocalModel:
    """The process over the rows of `seen` nearest to a centre, kept up to date with little work.

    What it returns depends on `state()` and `seen` alone, bit for bit: new rows come in as chunks, by rank-k growth
    of the Cholesky factor, and a restored model grows through the same chunks.
    """

    def __init__(self, seen: Observations, prior: Prior, effort: Effort) -> None:
        self._seen, self._prior, self._effort = seen, prior, effort
        self.hyper: Hyper | None = None
        self._fits = 0
        self._known = 0  # successful rows in `seen` that were looked at
        self._reach = np.inf  # distance, in length scales, of the farthest row that was chosen; inf if all were
        self._chunks: list[list[int]] = []
        self._posterior: Posterior | None = None
        self._most, self._most_fitted = effort.limits(seen.dim)
        self._fit, self._make = _route(effort.device)

    def update(self, centre: Floats) -> Posterior:
        """Return the process up to date with `seen`, which holds at least one success; `centre` [d] says where."""
        good = self._seen.good
        new = self._near(centre, good[self._known :])
        self._known = len(good)
        chosen = len(self._chunks[0]) if self._chunks else 0
        held = sum(map(len, self._chunks)) + len(new)
        due = min(max(1.0, self._effort.growth * chosen), REFIT_ROWS)
        if self.hyper is None or held - chosen >= due or held > self._most:
            self._choose(centre, good)
            self._refit()
        elif len(new):
            self._chunks.append(new.tolist())
            if self._posterior is not None:
                self._posterior = self._grown(self._posterior, len(self._chunks) - 1)
        if self._posterior is None:
            self._posterior = self._rebuilt()
        return self._posterior

    @property
    def rows(self) -> Rows:
        """The rows in the model, [n]."""
        return np.array([row for chunk in self._chunks for row in chunk], np.int64)

    def _choose(self, centre: Floats, good: Rows) -> None:
        limit = self._most * 3 // 4
        self._reach = np.inf
        if len(good) > limit:
            far = self._distances(centre, good)
            near = np.argpartition(far, limit - 1)[:limit]
            self._reach, good = float(far[near].max()), good[np.sort(near)]
        self._chunks, self._posterior = [good.tolist()], None

    def _near(self, centre: Floats, rows: Rows) -> Rows:
        if self._reach == np.inf or not len(rows):
            return rows
        return rows[self._distances(centre, rows) <= self._reach]

    def _distances(self, centre: Floats, rows: Rows) -> Floats:
        """Return the squared distances of rows from `centre` [d], in length scales."""
        lengths = self._prior.mode(len(centre)).lengths if self.hyper is None else self.hyper.lengths
        far = np.empty(len(rows))
        for i in range(0, len(rows), CHUNK):
            gap = (self._seen.x[rows[i : i + CHUNK]] - centre) / lengths
            far[i : i + CHUNK] = np.einsum("ij,ij->i", gap, gap)
        return far

    def _refit(self) -> None:
        """Fit the hyper-parameters to the best rows: it is near them that the next points will lie."""
        rows = self.rows
        if len(rows) > self._most_fitted:
            order = np.argsort(self._seen.y[rows], kind="stable")
            rows = rows[np.sort(order[: self._most_fitted])]
        x, z = self._seen.x[rows], self._standard(rows)
        starts = [] if self.hyper is None else [self.hyper]
        if self._fits % self._effort.afresh == 0:
            mode = self._prior.mode(x.shape[1])
            starts += [mode, Hyper(mode.lengths / SHORT, SHORT_NOISE)]
        fitted = [self._fit(x, z, start, self._prior, self._effort.iterations) for start in starts]
        self.hyper = min(fitted, key=lambda pair: pair[1])[0]
        self._fits += 1

    def _rebuilt(self) -> Posterior:
        assert self.hyper is not None
        rows = np.array(self._chunks[0], np.int64)
        posterior = self._make(self._seen.x[rows], self._standard(rows), self.hyper)
        for i in range(1, len(self._chunks)):
            posterior = self._grown(posterior, i)
        return posterior

    def _grown(self, posterior: Posterior, i: int) -> Posterior:
        """Return the process of chunks 0 to `i - 1` with chunk `i` added."""
        rows = np.array([row for chunk in self._chunks[: i + 1] for row in chunk], np.int64)
        return posterior.extended(self._seen.x[self._chunks[i]], self._standard(rows))

    def _standard(self, rows: Rows) -> Floats:
        """Return the losses of rows in the standard units of those rows, [n]."""
        y = self._seen.y[rows]
        return Scale.of(y).down(y)

    def state(self) -> dict[str, Any]:
        """Return JSON values from which `restore` makes a model that goes on bit for bit."""
        return {
            "hyper": None if self.hyper is None else self.hyper.state(),
            "fits": self._fits,
            "known": self._known,
            "reach": None if self._reach == np.inf else self._reach,
            "chunks": [list(chunk) for chunk in self._chunks],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a saved state."""
        self.hyper = None if state["hyper"] is None else Hyper.restore(state["hyper"])
        self._fits, self._known = state["fits"], state["known"]
        self._reach = np.inf if state["reach"] is None else state["reach"]
        self._chunks, self._posterior = [list(chunk) for chunk in state["chunks"]], None


def _route(device: str | None) -> tuple[Callable[..., tuple[Hyper, float]], Callable[..., Posterior]]:
    """Return how hyper-parameters are fitted and how a posterior is made.

    MissingExtra without the packages of a device, ValueError for a device that torch does not have here.
    """
    if device is None:
        return fit, Posterior
    try:
        from lamcts.models import torch_gp
    except ModuleNotFoundError as error:  # torch itself, or gpytorch beside a torch that is there
        raise MissingExtra.of(error.name or "torch", "torch") from None
    torch_gp.check(device)
    return partial(torch_gp.fit, device=device), partial(torch_gp.TorchPosterior, device=device)
