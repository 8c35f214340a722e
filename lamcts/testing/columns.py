"""The contract of samplers where rows have several columns: constraints, several objectives, or both."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Sampler
from lamcts.spaces.base import SearchSpace
from lamcts.testing.contract import expect
from lamcts.testing.samplers import SAME_STATE, hold, paths, restored, same_future
from lamcts.testing.search import Search
from lamcts.types import Floats, Rows


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

    Raises
    ------
    ContractError
        If it breaks its contract; the message says what was expected and what it got.

    Notes
    -----
    A sampler whose class does not set `multi_output = True` (or "constraints") gets a single number for each
    evaluation, as in the optimizer.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_columns(lamcts.samplers.Uniform(), lamcts.Box(0, 1, dim=2))
    """
    hold(CHECKS, sampler, space, seed)


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


def points_stay_inside_the_region(sampler: Sampler, space: SearchSpace, seed: int) -> None:
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


CHECKS: tuple[Callable[[Sampler, SearchSpace, int], None], ...] = (
    any_mix_of_results_is_taken,
    same_seed_same_columns_same_points,
    a_restored_session_of_columns_goes_on_bit_for_bit,
    points_stay_inside_the_region,
    it_goes_on_where_nothing_is_feasible_or_succeeds,
    scaling_columns_by_powers_of_two_changes_nothing,
)
