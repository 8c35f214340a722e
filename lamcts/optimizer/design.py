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

FEWEST, MOST = 10, 100  # points, where 2 d would be fewer or more (untuned)
FEWEST_MODELLED, MOST_MODELLED = 8, 12  # the same of d + 2, where a model of few rows leads (tuned: 20 cost pest and
# ackley53 their first evaluations, and 24 LightGBM nearly all of 25; see also benchmarks/optimizer/dimensions.py)
STEP = 0.1  # along each parameter from a given point, as a share of its range (SciPy's COBYLA: 1 of ten)
Kind = Literal["sobol", "lhs", "uniform"]
Draw = Callable[[int, int, np.random.Generator], Floats]


def uniform(n: int, dim: int, rng: np.random.Generator) -> Floats:
    """Return independent uniform points, [n, dim]."""
    return rng.random((n, dim))


DRAWS: dict[str, Draw] = {"sobol": sobol, "lhs": latin_hypercube, "uniform": uniform}


def default_size(space: SearchSpace, goals: Goals | None = None, centred: bool = False) -> int:
    """Return how many points to start with: 2 d as TuRBO does (Eriksson et al. 2019), within bounds.

    d counts parameters, not coordinates. Where a model leads, d + 2 will do. Under constraints d + 1 tell the trends:
    Ackley in ten dimensions is feasible after 22 evaluations, not 27.5 (medians of seeds 100 to 109).
    """
    if centred:
        return 1
    parameters, plain = Parameters(space), goals is None or goals.plain
    d = parameters.count
    if parameters.mostly_discrete or (parameters.partly_discrete if plain else space.dim > WIDE):
        return min(max(d + 2, FEWEST_MODELLED), MOST_MODELLED)
    return min(d + 1, MOST) if goals is not None and goals.bounded else min(max(2 * d, FEWEST), MOST)


class Design:
    """A fixed list of `n` starting points: the `given` codes [d] first, then points that fill the space evenly."""

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
            for x, told in zip(given, points, strict=bool(points))
            if (point := exact(space, x, told)) is not None
        }
        self.centred = centred and (goals is None or goals.plain)
        if not isinstance(kind, str) or kind not in DRAWS:
            raise ValueError(f"design: expected one of {', '.join(DRAWS)}, got {brief(kind)}")
        if n is None:
            n = max(default_size(space, goals, self.centred), len(given))
        self._bounded = goals is not None and goals.bounded
        self.kind, self.given, self.n = kind, given, max(whole_number(n, "n_init", least=0), len(given))
        self._space, self._seed = space, seed
        self._rows: dict[bool, Floats] = {}  # whether they are steps -> points

    def rows(self, start: int, stop: int, failed: bool = False) -> Floats:
        """Return the points numbered `start` to `stop` (fewer at the end), [k, d], valid and encoded.

        failed: whether the evaluation of the given point has failed; steps from it may fail too.
        """
        steps = self._stepwise and not failed
        if steps not in self._rows:
            rng = stream(self._seed, Purpose.DESIGN)
            dim = self._space.dim
            first = np.array(self.given or self._centre()).reshape(-1, dim)
            n = self.n - len(first)
            drawn = self._steps(n) if steps else self._space.spread(self._drawn(n, rng))
            self._rows[steps] = np.vstack([first, at_least_fidelity(self._space, drawn) if n else np.empty((0, dim))])
        return self._rows[steps][start:stop]

    def limit(self, n: int) -> None:
        """Leave at most `n` points, but all that were given."""
        self.n, self._rows = max(min(self.n, n), len(self.given)), {}

    def fresh(self, seen: Observations, used: int, n: int) -> tuple[Floats, int]:
        """Return at most `n` unevaluated points [k, d], and the number of design points used, `used` before."""
        unasked = int(np.count_nonzero((seen.trial == -1) & (seen.kind != PRUNED)))
        failed = seen.x[seen.kind == FAILED]
        start_failed = self._stepwise and bool((failed == self.given[0]).all(1).any())
        while used + unasked < self.n or used < len(self.given):
            x = self.rows(used, used + n, start_failed)
            used += len(x)
            if len(x := x[seen.unseen(x)]):
                return x, used
        return np.empty((0, self._space.dim)), used

    def _centre(self) -> list[Floats]:
        """Return the centre of the space where the design begins with it, unless a rule or a key refuses it."""
        if not (self.centred and self.n):
            return []
        x: Floats = self._space.snap(np.full((1, self._space.dim), 0.5))[0]
        identity = identity_of(self._space)
        return [x] if identity is None or identity(x) is not None else []

    @property
    def _stepwise(self) -> bool:
        """Whether the design is one given point and a step along each parameter: under constraints, of few reals."""
        few = bool(self._space.continuous.all()) and self.n <= 1 + self._space.dim <= 1 + WIDE
        return self.kind == "sobol" and self._bounded and len(self.given) == 1 and few

    def _steps(self, n: int) -> Floats:
        """Return the given point after a step along each of the first `n` parameters, towards the middle, [n, d]."""
        x = np.repeat(self.given, n, axis=0)
        i = np.arange(n)
        x[i, i] += np.where(x[i, i] > 0.5, -STEP, STEP)
        return self._space.snap(x)

    def _drawn(self, n: int, rng: np.random.Generator) -> Floats:
        """Return points of the cube [n, d] that are even in each parameter: all its coordinates are the same."""
        widths = Parameters(self._space).widths
        return np.repeat(DRAWS[self.kind](n, len(widths), rng), widths, axis=1)

    def signature(self) -> Json:
        """Return JSON values that tell this design from others."""
        return {"kind": self.kind, "n_init": self.n, "x0": [x.tolist() for x in self.given]}


def encoded(space: SearchSpace, x0: Point) -> tuple[list[Floats], list[Point]]:
    """Return the codes of `x0` and its points: None, one point or several, all with a key where the space has one."""
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
    """Proposes the best point of each related task. Nothing but the evaluations decides when: it has no state."""

    def __init__(self, tasks: RelatedTasks, space: SearchSpace) -> None:
        self._space, self._tasks = space, tasks
        self._models: RelatedModels | None = None  # fitted when they are first asked

    def fresh(self, seen: Observations, n: int) -> Floats:
        """Return the best points of at most `n` tasks that rank the evaluations well, unless they are seen, [k, d]."""
        x = np.array([task.x[np.argmin(task.y)] for task in self._tasks]).reshape(-1, seen.dim)
        new = seen.unseen(x) if len(x) else np.zeros(0, bool)
        if new.any():
            inputs_of = Coding(Parameters(self._space)).inputs
            self._models = self._models or RelatedModels(self._tasks, inputs_of, KernelPrior())
            new &= self._models.rank_correlations(inputs_of(seen.x[seen.good]), seen.y[seen.good]) > 0
        return x[new][:n]
