"""The contract of samplers and their sessions (`lamcts.samplers.base`)."""

import dataclasses
import zlib
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK
from lamcts.outcomes.observations import Observations
from lamcts.rng import restore, save
from lamcts.samplers.base import Sampler, Supports
from lamcts.spaces import Bool, Box, Choice, Float, Int, Space
from lamcts.spaces.base import SearchSpace, rows_of
from lamcts.spaces.regions.region import Step
from lamcts.testing.search import Loss, Search, bowl, expect, watched
from lamcts.types import Floats, Mask, Rows

# Small, so that the contract takes seconds; so are the numbers of points and rounds below.
SPACES: dict[str, Callable[[], SearchSpace]] = {
    "box": lambda: Box(-5.0, 10.0, dim=3),
    "mixed": lambda: Space({"rate": Float(1e-4, 1.0, log=True), "layers": Int(1, 6), "kind": Choice(("a", "b", "c"))}),
    "discrete": lambda: Space({"layers": Int(1, 6), "kind": Choice(("a", "b", "c")), "skip": Bool()}),
    "conditional": lambda: Space(
        {
            "solver": Choice(("sgd", "adam", "lbfgs")),
            "momentum": Float(0.0, 0.99, when={"solver": "sgd"}),
            "nesterov": Bool(when={"solver": "sgd"}),
            "rate": Float(1e-4, 1.0, log=True),
            "steps": Int(1, 9, when={"nesterov": True}),
        }
    ),
}
SMALL = 40  # points of a space that is searched to its end
SAME_STATE = "the same points from a restored generator, which has no seed: draw child generators, do not spawn them"


@dataclass(frozen=True)
class Ball:
    """A curved split, as a kernel machine makes: good is within `radius` of `centre` [d]."""

    centre: Floats
    radius: float

    def good(self, x: Floats) -> Mask:
        return np.asarray(np.sqrt(((x - self.centre) ** 2).sum(1)) <= self.radius)

    def halfspace(self) -> None:
        return None


@dataclass(frozen=True)
class Slope:
    """A flat split: good is `x @ w + b >= 0`."""

    w: Floats
    b: float

    def good(self, x: Floats) -> Mask:
        return np.asarray((x * self.w).sum(1) + self.b >= 0)

    def halfspace(self) -> tuple[Floats, float]:
        return self.w, self.b


def check_sampler(sampler: Sampler, space: SearchSpace | None = None, seed: int = 0) -> None:
    """Check that a sampler does what the optimizer relies on.

    Parameters
    ----------
    sampler : Sampler
        The settings of the sampler.
    space : Space, default None
        The space in which it proposes points; by default four are tried: continuous, mixed, discrete, conditional.
    seed : int, default 0
        Seed of the searches.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_sampler(lamcts.samplers.Uniform(), lamcts.Box(0, 1, dim=2))
    """
    hold(CHECKS, sampler, space, seed)


def hold(
    checks: Sequence[Callable[[Sampler, SearchSpace, int], None]],
    sampler: Sampler,
    space: SearchSpace | None,
    seed: int,
) -> None:
    """Run checks of a sampler's settings and of its sessions, in one space, or in all of `SPACES`."""
    check_settings(sampler)
    for name, one in {"space": space}.items() if space is not None else ((n, make()) for n, make in SPACES.items()):
        for check in checks:
            with watched(f"{sampler!r} in {name}, {check.__name__.replace('_', ' ')}"):
                check(sampler, one, seed)


def check_settings(sampler: Sampler) -> None:
    expect(dataclasses.is_dataclass(sampler), "a sampler that is a dataclass", type(sampler).__name__)
    frozen = type(sampler).__dataclass_params__.frozen  # type: ignore[attr-defined]
    expect(frozen, "a frozen dataclass, @dataclass(frozen=True)", type(sampler).__name__)
    expect(isinstance(sampler.supports, Supports), "supports: a Supports of lamcts.samplers", repr(sampler.supports))
    expect(isinstance(sampler.resumable, bool), "resumable: True or False", repr(sampler.resumable))


def many_asks_without_a_tell(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    """200 points are out; a random half comes back in random order, failures among them; the search goes on."""
    rng = np.random.default_rng([seed, 3])
    search = Search(sampler, space, seed)
    numbers = [number for n in (1, 7, 64, 128) for number in search.ask(n)]
    order = rng.permutation(numbers).tolist()
    half = order[: len(order) // 2]
    for part in np.array_split(half, 7):
        search.tell(part.tolist(), (rng.random(len(part)) < 0.3).tolist())
    search.forget(order[len(half) : len(half) + 5])
    search.go(3, 4)
    search.tell(order[len(half) + 5 : len(half) + 15])
    search.go(2, 1)


def same_seed_same_points(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    first, again, loaded = (Search(sampler, space, seed, rng=rng).go(5, 3) for rng in (None, None, restored(seed)))
    expect(np.array_equal(first, again), "the same points from the same seed", "others")
    expect(np.array_equal(first, loaded), SAME_STATE, "others")


def restored(seed: int) -> np.random.Generator:
    """Return the generator that starts a search, as a saved run restores it."""
    return restore(save(np.random.default_rng([seed, 2])))


def a_restored_session_goes_on_bit_for_bit(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    """The state is taken before the first ask, with points out, and after results; both copies must stay equal."""
    if not sampler.resumable:
        return
    search = Search(sampler, space, seed)
    same_future(search, seed)
    for rounds in (1, 6):
        search.go(rounds, 4)
        out = search.ask(7)
        search.tell(out[::-2], [False, True, False, False][: len(out[::-2])])
        same_future(search, seed)


def same_future(search: Search, seed: int) -> None:
    """Check that a restored copy of the search and the search itself make and say the same."""
    saved, state = search.saved(), search.session.state()
    kept, copy = deepcopy(state), search.resumed()
    expect(copy.saved() == saved, "restore: a session whose state and log are those it was made from", "others")
    for _ in range(3):
        mine, other = search.go(1, 3), copy.go(1, 3)
        expect(
            np.array_equal(mine, other),
            "restore: the points that the first session asks for (keep all that ask and "
            "tell change in the progress, or rebuild it in replay)",
            "others",
        )
    expect(copy.saved() == search.saved(), "restore: the state of the first session after three rounds", "another")
    expect(state == kept, "state: values that the session does not change later", "others")


def points_stay_inside_the_region(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    for steps in paths(space, seed):
        Search(sampler, space, seed, steps=steps, given=12).go(4, 5)
        Search(sampler, space, seed, steps=steps, given=0).go(2, 3)


def a_session_moves_to_a_part_of_its_region(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    search = Search(sampler, space, seed)
    search.go(3, 5)
    row = search.session.incumbent
    expect(row is not None, "incumbent: a row, after evaluations that succeeded", None)
    x = search.seen.x[row]
    search.move([Step(Ball(x, 0.3), True), Step(Slope(-np.eye(space.dim)[0], float(x[0])), True)])
    search.go(3, 5)
    search.move([])
    search.go(1, 5)


def paths(space: SearchSpace, seed: int) -> Sequence[Sequence[Step]]:
    """Return paths of splits, flat and curved, good and bad sides, that leave a part of the space."""
    x = space.sample(400, np.random.default_rng([seed, 4]))
    w = np.cos(np.arange(space.dim))
    slope = Slope(w, -float(np.median((x * w).sum(1))))
    radius = float(np.quantile(np.sqrt(((x - x[0]) ** 2).sum(1)), 0.4))
    return [Step(slope, False)], [Step(Ball(x[0], radius), True)], [Step(Ball(x[0], radius), False), Step(slope, True)]


def a_small_space_is_asked_to_its_last_point(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    if not 0 < len(every := _listed(space)) <= SMALL:
        return
    search = Search(sampler, space, seed, given=2)
    while len(search.go(1, 3)):
        pass
    left = np.count_nonzero(search.seen.unseen(every))
    expect(search.session.done or not left, "ask: every point of a small space", f"none with {left} left")


def _listed(space: SearchSpace) -> Floats:
    """Return the rows of all points [n, d], none for a space that does not list them."""
    rows = rows_of(space)
    return np.empty((0, space.dim)) if rows is None else rows


def degenerate_values_do_no_harm(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    losses: tuple[Loss, ...] = (
        lambda x: 1.0,
        lambda x: 1e300 * (float(x[0]) - 0.5),
        lambda x: 1e-300 * float(x[0]),
        lambda x: 1e300 if x[0] > 0.5 else 1e-300,
    )
    for loss in losses:
        Search(sampler, space, seed, loss=loss).go(4, 6)
    hopeless = Search(sampler, space, seed, given=0, loss=lambda x: np.nan)
    hopeless.go(4, 6)
    expect(hopeless.session.incumbent is None, "incumbent: None while nothing succeeded", hopeless.session.incumbent)


def scaling_values_by_a_power_of_two_changes_nothing(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    plain = Search(sampler, space, seed).go(6, 4)
    for k in (7, -40):
        scaled = Search(sampler, space, seed, loss=_scaled(k)).go(6, 4)
        expect(np.array_equal(plain, scaled), f"the same points when every loss is multiplied by 2**{k}", "others")


def _scaled(k: int) -> Loss:
    return lambda x: bowl(x) * 2.0**k


CHECKS: tuple[Callable[[Sampler, SearchSpace, int], None], ...] = (
    many_asks_without_a_tell,
    same_seed_same_points,
    a_restored_session_goes_on_bit_for_bit,
    points_stay_inside_the_region,
    a_session_moves_to_a_part_of_its_region,
    a_small_space_is_asked_to_its_last_point,
    degenerate_values_do_no_harm,
    scaling_values_by_a_power_of_two_changes_nothing,
)


@dataclass(frozen=True)
class Quantities:
    """Losses f [k, m] and excesses g [k, c] of rows x [k, d]; one row in six each fails, is checked, lacks an excess.

    kept: whether anything is feasible. scales: factors of the columns, losses first.
    """

    losses: int
    constraints: int
    kept: bool = True
    scales: tuple[float, ...] = (1.0,)

    def of(self, x: Floats) -> tuple[Floats, Floats, Rows]:
        """Return f, g and kinds [k] of rows; a row's are the same whenever it is looked at."""
        middles = np.linspace(0.2, 0.8, self.losses)
        f = np.stack([np.square(x - at).sum(1) for at in middles], axis=1)
        g = x[:, np.arange(self.constraints) % x.shape[1]] - (0.7 if self.kept else -1.0)
        scales = np.resize(self.scales, self.losses + self.constraints)
        f, g = f * scales[: self.losses], g * scales[self.losses :]
        fate = np.array([zlib.crc32(row.tobytes()) % 6 for row in x], int)
        kind = np.where(fate == 0, FAILED, np.where((fate == 1) & (self.constraints > 0), CHECKED, OK))
        f[kind != OK] = np.nan
        g[fate == 0] = np.nan
        g[fate == 2, :1] = np.nan
        return f, g, kind


# Small numbers of everything, so that the contract takes seconds.
CASES = {
    "constraints": Quantities(1, 2),
    "two objectives": Quantities(2, 0),
    "objectives and a constraint": Quantities(3, 1),
    "many objectives": Quantities(6, 1),
}
DEGENERATE = {  # an infeasible space is searched for the least that is broken
    "nothing feasible": Quantities(1, 2, kept=False),
    "neither of two": Quantities(2, 1, kept=False),
}


class ColumnsSearch(Search):
    """A session over observations of several columns; what a loss says is that an evaluation fails, if it is nan."""

    def __init__(self, sampler: Sampler, space: SearchSpace, seed: int, quantities: Quantities, **options: Any) -> None:
        self.quantities = quantities
        super().__init__(sampler, space, seed, **{"loss": lambda x: 0.0, **options})

    def _nothing(self) -> Observations:
        return Observations(self.space.dim, losses=self.quantities.losses, constraints=self.quantities.constraints)

    def _append(self, x: Floats, y: Floats, trials: Rows, source: int) -> Rows:
        f, g, kind = self.quantities.of(x)
        lost = np.isnan(y)
        f[lost], g[lost], kind[lost] = np.nan, np.nan, FAILED
        k = len(x)
        return self.seen.append(x, f, np.full(k, np.nan), trials, np.full(k, source), g, kind)


def check_columns(sampler: Sampler, space: SearchSpace | None = None, seed: int = 0) -> None:
    """Check a sampler under constraints and with several objectives.

    Parameters
    ----------
    sampler : Sampler
        The settings of the sampler.
    space : SearchSpace, default None
        The space in which it proposes points; by default four are tried: continuous, mixed, discrete, conditional.
    seed : int, default 0
        Seed of the searches.

    Notes
    -----
    A sampler whose `supports` lacks constraints or several objectives gets a single number for each evaluation, as in
    the optimizer.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_columns(lamcts.samplers.Uniform(), lamcts.Box(0, 1, dim=2))
    """
    hold(COLUMN_CHECKS, sampler, space, seed)


def any_mix_of_results_is_taken(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    """Results come late and in any order, failures and checks among them; some never come."""
    for quantities in CASES.values():
        rng = np.random.default_rng([seed, 3])
        search = ColumnsSearch(sampler, space, seed, quantities)
        order = rng.permutation([number for n in (1, 6, 12) for number in search.ask(n)]).tolist()
        for part in np.array_split(order[:10], 3):
            search.tell(part.tolist(), (rng.random(len(part)) < 0.2).tolist())
        search.forget(order[10:12])
        search.go(2, 3)
        search.tell(order[12:16])
        search.go(1, 2)


def same_seed_same_columns_same_points(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    for quantities in CASES.values():
        generators = (None, None, restored(seed))
        first, again, loaded = (ColumnsSearch(sampler, space, seed, quantities, rng=rng).go(3, 3) for rng in generators)
        expect(np.array_equal(first, again), "the same points from the same seed", "others")
        expect(np.array_equal(first, loaded), SAME_STATE, "others")


def a_restored_session_of_columns_goes_on_bit_for_bit(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    if not sampler.resumable:
        return
    for quantities in CASES.values():
        search = ColumnsSearch(sampler, space, seed, quantities)
        same_future(search, seed)
        search.go(3, 3)
        out = search.ask(5)
        search.tell(out[::-2], [False, True, False][: len(out[::-2])])
        same_future(search, seed)


def points_of_several_columns_stay_inside(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    for steps, quantities in zip(paths(space, seed), CASES.values(), strict=False):
        ColumnsSearch(sampler, space, seed, quantities, steps=steps, given=12).go(3, 4)


def it_goes_on_where_nothing_is_feasible_or_succeeds(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    for quantities in DEGENERATE.values():
        ColumnsSearch(sampler, space, seed, quantities).go(3, 4)
    for quantities in CASES.values():
        hopeless = ColumnsSearch(sampler, space, seed, quantities, given=0, loss=lambda x: np.nan)
        hopeless.go(2, 4)
        row = hopeless.session.incumbent
        expect(row is None, "incumbent: None while nothing succeeded", row)


def scaling_columns_by_powers_of_two_changes_nothing(sampler: Sampler, space: SearchSpace, seed: int) -> None:
    """No column's unit counts, nor what it is beside another's."""
    for losses, constraints in ((1, 2), (2, 1)):
        plain = ColumnsSearch(sampler, space, seed, Quantities(losses, constraints)).go(4, 3)
        scaled = ColumnsSearch(sampler, space, seed, Quantities(losses, constraints, scales=(8.0, 2.0**-20, 2.0))).go(
            4, 3
        )
        expect(np.array_equal(plain, scaled), "the same points when columns are multiplied by powers of 2", "others")


COLUMN_CHECKS: tuple[Callable[[Sampler, SearchSpace, int], None], ...] = (
    any_mix_of_results_is_taken,
    same_seed_same_columns_same_points,
    a_restored_session_of_columns_goes_on_bit_for_bit,
    points_of_several_columns_stay_inside,
    it_goes_on_where_nothing_is_feasible_or_succeeds,
    scaling_columns_by_powers_of_two_changes_nothing,
)
