"""The initial design: the points evaluated before anything has been learned."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from lamcts.models.coding import Coding
from lamcts.models.prior_mean import RelatedModels
from lamcts.models.priors import KernelPrior
from lamcts.outcomes.constrained_rank import FAILED, PRUNED
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.outcomes.related import RelatedTasks
from lamcts.rng import Purpose, stream
from lamcts.samplers.default import WIDE
from lamcts.spaces.base import SearchSpace, identity_of
from lamcts.spaces.exact import exact
from lamcts.spaces.fidelity import at_least_fidelity
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.sobol import latin_hypercube, sobol
from lamcts.spaces.values import brief
from lamcts.types import Floats, Json, Point, whole_number

FEWEST = 10  # least size of the design: with fewer rows the first models are poor, more rows delay them
MOST = 100  # largest size, reached in 50 dimensions: a larger design leaves less of the budget for the search
FEWEST_MODELLED = 8  # bounds of d + 2, for models of few rows; see benchmarks/optimizer/dimensions.py. Instead of 12,
MOST_MODELLED = 12  # 20 wasted evaluations of pest and ackley53, and 24 nearly the whole budget of 25 of LightGBM
STEP = 0.1  # share of a parameter's range from the given point (SciPy's COBYLA: 1 of ten)
Kind = Literal["sobol", "lhs", "uniform"]
Draw = Callable[[int, int, np.random.Generator], Floats]


def uniform(n: int, dim: int, rng: np.random.Generator) -> Floats:
    """Return independent uniform points, [n, dim]."""
    return rng.random((n, dim))


DRAWS: dict[str, Draw] = {"sobol": sobol, "lhs": latin_hypercube, "uniform": uniform}


def default_size(space: SearchSpace, goals: Goals | None = None, is_centred: bool = False) -> int:
    """Return the size of the initial design: 2 d as in TuRBO (Eriksson et al. 2019), within bounds.

    d counts parameters, not coordinates. Models of few rows need d + 2, linear trends under constraints d + 1: Ackley
    in ten dimensions is then feasible after 22 instead of 27.5 evaluations (medians of seeds 100 to 109).
    """
    if is_centred:
        return 1
    parameters = Parameters(space)
    plain = goals is None or goals.plain
    d = parameters.count
    if parameters.mostly_discrete or (parameters.partly_discrete if plain else space.dim > WIDE):
        return min(max(d + 2, FEWEST_MODELLED), MOST_MODELLED)
    return min(d + 1, MOST) if goals is not None and goals.bounded else min(max(2 * d, FEWEST), MOST)


class Design:
    """A fixed list of `n` initial points: the codes [d] of `x0` first, then points that fill the space evenly."""

    def __init__(
        self,
        space: SearchSpace,
        kind: Kind,
        n: int | None,
        given: list[Floats],
        seed: int,
        goals: Goals | None = None,
        centred: bool = False,
        points: Sequence[Point] = (),
    ) -> None:
        self.exact = {  # code -> point
            x.tobytes(): point
            for x, x0_point in zip(given, points, strict=bool(points))
            if (point := exact(space, x, x0_point)) is not None
        }
        self.centred = centred and (goals is None or goals.plain)
        if not isinstance(kind, str) or kind not in DRAWS:
            raise ValueError(f"design: expected one of {', '.join(DRAWS)}, got {brief(kind)}")
        if n is None:
            n = max(default_size(space, goals, self.centred), len(given))
        self._bounded = goals is not None and goals.bounded
        self.kind = kind
        self.given = given
        self.n = max(whole_number(n, "n_init", least=0), len(given))
        self._space = space
        self._seed = seed
        self._rows: dict[bool, Floats] = {}  # whether the points are steps -> points

    def rows(self, start: int, stop: int, start_failed: bool = False) -> Floats:
        """Return the points numbered `start` to `stop` (fewer at the end), [k, d]; no steps from a failed x0."""
        steps = self._stepwise and not start_failed
        if steps not in self._rows:
            rng = stream(self._seed, Purpose.DESIGN)
            dim = self._space.dim
            x0 = np.array(self.given or self._centre()).reshape(-1, dim)
            n = self.n - len(x0)
            further = self._steps(n) if steps else self._space.spread(self._drawn(n, rng))
            self._rows[steps] = np.vstack([x0, at_least_fidelity(self._space, further) if n else np.empty((0, dim))])
        return self._rows[steps][start:stop]

    def limit(self, n: int) -> None:
        """Reduce the design to at most `n` points, but keep all of `x0`."""
        self.n = max(min(self.n, n), len(self.given))
        self._rows = {}

    def fresh(self, seen: Observations, n_used: int, n: int) -> tuple[Floats, int]:
        """Return at most `n` unevaluated points [k, d], and the new number of design points used."""
        n_unsolicited = int(np.count_nonzero((seen.trial == -1) & (seen.kind != PRUNED)))
        failed = seen.x[seen.kind == FAILED]
        start_failed = self._stepwise and bool((failed == self.given[0]).all(1).any())
        while n_used + n_unsolicited < self.n or n_used < len(self.given):
            x = self.rows(n_used, n_used + n, start_failed)
            n_used += len(x)
            if len(x := x[seen.unseen(x)]):
                return x, n_used
        return np.empty((0, self._space.dim)), n_used

    def _centre(self) -> list[Floats]:
        """Return the centre of the space if the design begins with it, unless it is invalid."""
        if not (self.centred and self.n):
            return []
        x: Floats = self._space.snap(np.full((1, self._space.dim), 0.5))[0]
        identity = identity_of(self._space)
        return [x] if identity is None or identity(x) is not None else []

    @property
    def _stepwise(self) -> bool:
        """Whether the design is `x0` and a step along each parameter: under constraints, with few real parameters."""
        is_small = bool(self._space.continuous.all()) and self.n <= 1 + self._space.dim <= 1 + WIDE
        return self.kind == "sobol" and self._bounded and len(self.given) == 1 and is_small

    def _steps(self, n: int) -> Floats:
        """Return `x0` after a step along each of the first `n` parameters, towards the middle, [n, d]."""
        x = np.repeat(self.given, n, axis=0)
        i = np.arange(n)
        x[i, i] += np.where(x[i, i] > 0.5, -STEP, STEP)
        return self._space.snap(x)

    def _drawn(self, n: int, rng: np.random.Generator) -> Floats:
        """Return points of the cube [n, d] in which all coordinates of a parameter are equal."""
        widths = Parameters(self._space).widths
        return np.repeat(DRAWS[self.kind](n, len(widths), rng), widths, axis=1)

    def signature(self) -> Json:
        """Return the settings of the design as JSON values."""
        return {"kind": self.kind, "n_init": self.n, "x0": [x.tolist() for x in self.given]}


def encoded(space: SearchSpace, x0: Point) -> tuple[list[Floats], list[Point]]:
    """Return the codes and the points of `x0`: None, one point or several; ValueError for an invalid point."""
    codes, points = _codes(space, x0)
    identity = identity_of(space)
    for x in codes:
        if identity is not None and identity(x) is None:
            got = brief(space.decode(x))
            if hasattr(space, "holds"):
                raise ValueError(f"x0: expected points that are valid, got {got}; leave it out, or look at the rule")
            raise ValueError(f"x0: expected points that have a key, got {got}, whose key is None; leave it out")
    return codes, points


def _codes(space: SearchSpace, x0: Point) -> tuple[list[Floats], list[Point]]:
    if x0 is None:
        return [], []
    try:
        return [space.encode(x0)], [x0]
    except ValueError as error:
        single = error
    try:
        points = None if isinstance(x0, (str, bytes, dict)) else list(x0)
    except TypeError:  # an array without a dimension has __iter__ too
        points = None
    if points is None:
        raise ValueError(f"x0: {single}") from None
    try:
        return [space.encode(point) for point in points], points
    except ValueError as error:
        raise ValueError(f"x0: expected one point or several; as one: {single}; as several: {error}") from None


class WarmStart:
    """Proposes the best point of each related task, when the evaluations so far agree with the task."""

    def __init__(self, tasks: RelatedTasks, space: SearchSpace) -> None:
        self._space = space
        self._tasks = tasks
        self._models: RelatedModels | None = None  # fitted at first use

    def fresh(self, seen: Observations, n: int) -> Floats:
        """Return the unseen best points of at most `n` tasks that rank the evaluations better than chance, [k, d]."""
        x = np.array([task.x[np.argmin(task.y)] for task in self._tasks]).reshape(-1, seen.dim)
        new = seen.unseen(x) if len(x) else np.zeros(0, bool)
        if new.any():
            inputs_of = Coding(Parameters(self._space)).inputs
            self._models = self._models or RelatedModels(self._tasks, inputs_of, KernelPrior())
            new &= self._models.rank_correlations(inputs_of(seen.x[seen.good]), seen.y[seen.good]) > 0
        return x[new][:n]
