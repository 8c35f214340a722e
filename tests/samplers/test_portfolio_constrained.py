"""The default beside constraints: who proposes before anything is feasible."""

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.samplers.coordinate import Coordinate
from lamcts.samplers.portfolio import Portfolio
from lamcts.samplers.quadratic import Quadratic
from lamcts.samplers.turbo import Turbo
from lamcts.spaces import Box
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats

CUBE = Box(0.0, 1.0, dim=3)
AUTO = Portfolio((Turbo(), Quadratic(), Coordinate()))


def asked(sampler: Portfolio, excess: float, losses: int = 1) -> set[int]:
    """Return the arms that propose points where all rows but those from the search break the constraint so far."""
    seen = Observations(3, losses=losses, constraints=1)
    rng = np.random.default_rng(0)
    append(seen, rng.random((12, 3)), excess)
    session = sampler.start(Region(CUBE, (), seen.good), seen, rng)
    arms = set[int]()
    for _ in range(15):
        session.move(Region(CUBE, (), seen.good))
        x, notes = session.ask(3)
        arms |= {note[0] for note in notes}
        session.tell(notes, append(seen, x, excess))
    return arms


def append(seen: Observations, x: Floats, excess: float) -> Floats:
    none, f = np.full(len(x), -1), np.square(x[:, None] - 0.3).sum(2)[:, [0] * seen.f.shape[1]]
    return seen.append(x, f, np.full(len(x), np.nan), none, none, excess + x[:, :1])


def test_an_arm_that_models_no_constraint_waits_until_something_is_feasible() -> None:
    assert asked(AUTO, excess=1.0) == {0, 1}
    assert asked(AUTO, excess=-0.9) == {0, 1, 2}


def test_where_no_arm_models_constraints_or_there_are_several_losses_all_propose() -> None:
    assert asked(Portfolio((Coordinate(), Coordinate())), excess=1.0) == {0, 1}
    assert asked(AUTO, excess=1.0, losses=2) == {0, 1, 2}
