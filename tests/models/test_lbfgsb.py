"""The quick descent against SciPy's own, bit for bit, whatever ends it."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import minimize

from lamcts.models import lbfgsb
from lamcts.models.lbfgsb import Limits, lowest
from lamcts.types import Floats


@pytest.fixture(params=["core", "minimize"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both ways: SciPy's core called by hand, and the one of a version that nobody has looked at."""
    lbfgsb._core.cache_clear()
    if request.param == "minimize":
        monkeypatch.setattr(lbfgsb, "KNOWN_VERSIONS", set())
    yield str(request.param)
    lbfgsb._core.cache_clear()


class Bumpy:
    """A bowl with ripples round a seed's point, in single precision for some seeds; it counts its calls."""

    def __init__(self, seed: int, d: int) -> None:
        rng = np.random.default_rng(seed)
        self.middle, self.steep, self.calls = rng.random(d), 10.0 ** rng.uniform(0, 3, d), 0
        self.kind = np.float32 if seed % 3 == 2 else np.float64

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        self.calls += 1
        gap = x - self.middle
        value = float((self.steep * gap**2 + np.cos(9 * gap)).sum())
        return value, (2 * self.steep * gap - 9 * np.sin(9 * gap)).astype(self.kind)


@pytest.mark.parametrize(
    "limits", [Limits(60, 1e-12, 1e-9), Limits(3), Limits(60, evaluations=4), Limits(500, 0.0, 0.0)]
)
@pytest.mark.parametrize("seed", range(6))
def test_it_ends_where_scipy_does_after_as_many_evaluations(seed: int, limits: Limits, route: str) -> None:
    d = 1 + 4 * seed
    rng = np.random.default_rng(100 + seed)
    low, high, start = np.zeros(d), 0.4 + rng.random(d), rng.random(d) * 1.5
    low[: seed // 2] = high[: seed // 2] = 0.25  # some that cannot move
    ours, theirs = Bumpy(seed, d), Bumpy(seed, d)
    options = {"maxiter": limits.steps, "ftol": limits.ftol, "gtol": limits.gtol, "maxfun": limits.evaluations}
    found = minimize(
        theirs, start, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)), options=options
    )
    point, value = lowest(ours, start, low, high, limits)
    assert (point.tolist(), value, ours.calls) == (found.x.tolist(), found.fun, theirs.calls)


def test_where_nothing_can_move_the_point_stays(route: str) -> None:
    fixed = np.array([0.25, 0.5])
    assert lowest(Bumpy(0, 2), np.zeros(2), fixed, fixed, Limits(5))[0].tolist() == [0.25, 0.5]


def test_the_versions_tried_here_are_called_by_hand() -> None:
    import scipy

    lbfgsb._core.cache_clear()
    assert (lbfgsb._core() is not None) == (tuple(map(int, scipy.__version__.split(".")[:2])) in lbfgsb.KNOWN_VERSIONS)
