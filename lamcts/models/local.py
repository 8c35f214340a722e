"""A process that follows a local search: which rows it holds, and when its hyper-parameters are fitted again.

Letters: n rows in the model, d coordinates.
"""

from dataclasses import dataclass, field

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.fit import ITERATIONS, fit
from lamcts.models.kernel import Hyper
from lamcts.models.known_noise import KnownNoise
from lamcts.models.multi_output import MultiOutput
from lamcts.models.output_transforms import ColumnUnits
from lamcts.models.posterior import Posterior
from lamcts.models.predicted_rows import errors_of, losses_of, modelled
from lamcts.models.priors import local_prior
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.types import Floats, Rows

ROWS_PER_DIM, MIN_ROWS, MAX_ROWS = 10, 512, 1000  # in the model, for each coordinate, but within the others (untuned)
FIT_ROWS_PER_DIM, MIN_FIT_ROWS, MAX_FIT_ROWS = 5, 256, 500  # the same of the rows fitted to (untuned): a fit with 1000
# rows takes five times as long as one with 500
SELECTED_SHARE = 3 / 4  # share of the most rows in a new selection; the rest is room for new results (untuned)
GROWTH, REFIT_ROWS = 0.1, 25  # a refit is due when a model has grown by this share, or by so many rows (untuned)
MULTI_START_EVERY = 3  # fits from one multi-start fit to the next (untuned)
MAX_FIT_CONSTRAINTS = 8  # constraints that hyper-parameters are fitted to, the most violated ones (untuned)
SHORT_FACTOR, SHORT_NOISE = 8.0, 1e-3  # second start: short lengths, low noise (untuned)
DISTANCE_BLOCK = 2000  # rows of `seen` whose distances are taken at once: in 1000 dimensions 16 MB


def limits(dim: int) -> tuple[int, int]:
    """Return the most rows in the model and in a fit, for `dim` coordinates."""
    rows = min(max(ROWS_PER_DIM * dim, MIN_ROWS), MAX_ROWS)
    return rows, min(max(FIT_ROWS_PER_DIM * dim, MIN_FIT_ROWS), MAX_FIT_ROWS)


@dataclass
class ModelState:
    """What a local model's future depends on, besides the rows: JSON values once its hyper-parameters are."""

    hypers: list[Hyper] = field(default_factory=list)  # of each group of columns; one that appears later has the last
    fits: int = 0
    known: int = 0  # successful rows in `seen` that were looked at
    reach: float | None = None  # distance, in length scales, of the farthest row that was chosen; None if all were
    rows: list[int] = field(default_factory=list)  # in the model
    chosen: int = 0  # of them, those that there were at the last fit


class LocalModel:
    """Processes of all columns over the rows of `seen` nearest to a centre.

    What it returns depends on `state` and `seen` alone, bit for bit.
    """

    def __init__(self, seen: Observations, location: float, state: ModelState | None = None) -> None:
        self._seen, self._prior = seen, local_prior(seen.dim, location)
        self.state = ModelState() if state is None else state
        self._model: MultiOutput | None = None
        self._most, self._most_fitted = limits(seen.dim)

    def update(self, centre: Floats) -> MultiOutput:
        """Return the processes up to date with `seen`, which holds at least one success; `centre` [d] says where."""
        good, state = modelled(self._seen), self.state
        new = self._near(centre, good[state.known :])
        state.known = len(good)
        held = len(state.rows) + len(new)
        due = min(max(1.0, GROWTH * state.chosen), REFIT_ROWS)
        if not state.hypers or held - state.chosen >= due or held > self._most:
            self._choose(centre, good)
            self._refit()
            self._model = None
        elif len(new):
            state.rows += new.tolist()
            self._model = None
        if self._model is None or self._seen.predicted:  # predictions change as trials end
            self._model = self._built()
        return self._model

    def surrogate(self, model: MultiOutput, rng: np.random.Generator) -> Surrogate:
        """Return the acquisition under the `model` of the latest update: fronts as seen, one loss without its noise."""
        seen, rows, m = self._seen, self.rows, self._seen.f.shape[1]
        feasible, units = seen.feasible[rows], self.units
        if m == 1:
            front = model.parts[0].fitted()[feasible, :1]
        else:
            front = units.lost(seen.f[np.union1d(rows[feasible], seen.front)])
        violation = np.maximum(units.violated(seen.g[rows]), 0.0).sum(1)
        return Surrogate(model, front, float(np.nanmin(violation, initial=np.inf)), rng)

    @property
    def rows(self) -> Rows:
        """The rows in the model, [n]."""
        return np.array(self.state.rows, np.int64)

    def _choose(self, centre: Floats, good: Rows) -> None:
        limit = int(SELECTED_SHARE * self._most)
        self.state.reach = None
        if len(good) > limit:
            far = self._distances(centre, good)
            near = np.argpartition(far, limit - 1)[:limit]
            self.state.reach, good = float(far[near].max()), good[np.sort(near)]
        self.state.rows, self.state.chosen = good.tolist(), len(good)

    def _near(self, centre: Floats, rows: Rows) -> Rows:
        if self.state.reach is None or not len(rows):
            return rows
        return rows[self._distances(centre, rows) <= self.state.reach]

    def _distances(self, centre: Floats, rows: Rows) -> Floats:
        """Return the squared distances of rows from `centre` [d], in length scales."""
        lengths = (self.state.hypers[0] if self.state.hypers else self._prior.mode).lengths
        far = np.empty(len(rows))
        for i in range(0, len(rows), DISTANCE_BLOCK):
            gap = (self._seen.x[rows[i : i + DISTANCE_BLOCK]] - centre) / lengths
            far[i : i + DISTANCE_BLOCK] = np.einsum("ij,ij->i", gap, gap)
        return far

    @property
    def units(self) -> ColumnUnits:
        """The units of the rows in the model."""
        return ColumnUnits.of(losses_of(self._seen, self.rows), self._seen.g[self.rows])

    def _refit(self) -> None:
        """Fit the hyper-parameters to the best rows: it is near them that the next points will lie."""
        rows, state, m = self.rows, self.state, self._seen.f.shape[1]
        if len(rows) > self._most_fitted:
            order = np.argsort(self._seen.y[rows], kind="stable")
            rows = rows[np.sort(order[: self._most_fitted])]
        inputs, z, known = self._inputs(rows), self._standard(rows), self._known(rows)
        parts = grouped(np.hstack([z[:, :m], _most_broken(z[:, m:])]), m, bool(known))
        starts, noises = [*state.hypers, *[None] * len(parts)], [*known, *[None] * len(parts)]
        state.hypers = [self._fitted(inputs, own, starts[i], noises[i]) for i, own in enumerate(parts)]
        state.fits += 1

    def _fitted(self, inputs: Inputs, z: Floats, warm: Hyper | None, known: KnownNoise | None) -> Hyper:
        """Return the best hyper-parameters found from those before, if any, and now and then from two places more."""
        starts = [] if warm is None else [warm]
        if self.state.fits % MULTI_START_EVERY == 0 or warm is None:
            mode = self._prior.mode
            starts += [mode, Hyper(mode.lengths / SHORT_FACTOR, SHORT_NOISE)]
        fitted = [fit(inputs, z, self._prior, start, ITERATIONS, known) for start in starts]
        return min(fitted, key=lambda pair: pair[1])[0]

    def _built(self) -> MultiOutput:
        """Return the posteriors of the groups; a group that is new since the last fit has the last kernel."""
        rows, m, hypers = self.rows, self._seen.f.shape[1], self.state.hypers
        known, inputs = self._known(rows), self._inputs(rows)
        columns, noises = grouped(self._standard(rows), m, bool(known)), [*known, *[None] * (m + 1)]
        parts = [Posterior(inputs, z, hypers[min(i, len(hypers) - 1)], noises[i]) for i, z in enumerate(columns)]
        return MultiOutput(parts, m)

    def _inputs(self, rows: Rows) -> Inputs:
        return Inputs.of(self._seen.x[rows])

    def _standard(self, rows: Rows) -> Floats:
        """Return the columns of rows in the standard units of those rows, [n, q]."""
        f, g = losses_of(self._seen, rows), self._seen.g[rows]
        return ColumnUnits.of(f, g).down(f, g)

    def _known(self, rows: Rows) -> tuple[KnownNoise | None, ...]:
        """Return the known noise of each loss in the standard units of rows; empty where none is known."""
        f, sems = losses_of(self._seen, rows), errors_of(self._seen, rows)
        if sems is None or np.isnan(sems).all():
            return ()
        z = ColumnUnits.of(f, self._seen.g[rows]).lost(f)
        return tuple(map(KnownNoise.of, sems.T, f.T, z.T))


def grouped(z: Floats, losses: int, apart: bool = False) -> list[Floats]:
    """Return columns [n, q] by group: all, for one loss; else each loss, and all others together if there are any.

    apart: one loss is a group of its own, too.
    """
    if losses == 1 and not apart:
        return [z]
    single = [z[:, [j]] for j in range(losses)]
    return [*single, z[:, losses:]] if z.shape[1] > losses else single


def _most_broken(z: Floats) -> Floats:
    """Return some of the constraints [n, c], chosen whatever their order."""
    if z.shape[1] <= MAX_FIT_CONSTRAINTS:
        return z
    order = np.lexsort((np.nansum(z, axis=0), -np.count_nonzero(z > 0, axis=0)))
    return z[:, np.sort(order[:MAX_FIT_CONSTRAINTS])]
