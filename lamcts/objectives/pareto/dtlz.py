"""DTLZ1, DTLZ2 and DTLZ7 (Deb, Thiele, Laumanns and Zitzler 2005) and C2-DTLZ2, for any number of objectives.

The first parameters say where on the front a point lies, the others how far it is from it. All have these settings:

dim: number of parameters, at least the number of objectives (12); paper: 12 for DTLZ2 with three objectives.
objective_count: number of objectives (2); paper: 3 and more.
shift: value of the distance parameters on the front, a seed or a vector [dim - objective_count + 1] (None: the centre
    of the box, in DTLZ7 its edge 0). A seed draws values in [0.2, 0.8]; paper: none.
"""

from collections.abc import Callable
from functools import partial
from math import factorial, gamma, pi

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Places, Problem, moved
from lamcts.objectives.protocol import digest
from lamcts.spaces.box import Box
from lamcts.types import Floats

DIM = 12  # of DTLZ2 with 3 objectives in the paper
RADIUS = 0.2  # of the feasible balls; BoTorch
# Largest hypervolume for two objectives: the integral along three arcs, which a test does again; BoTorch has 0.39964.
C2_DTLZ2 = 0.4000566682
Front = Callable[[Floats, Floats], Floats]  # of positions [n, m - 1] and distances [n, k]: objectives [n, m]


@register("dtlz1", "two or more objectives, a flat front behind 11^k others")
def dtlz1(dim: int = DIM, objective_count: int = 2, shift: Places = None) -> Problem:
    """The front is where the objectives sum to 1/2."""
    # all but the corner below the front, a simplex; the reference as in BoTorch
    return _dtlz(
        "dtlz1", _flat, dim, objective_count, shift, 0.5, 400.0, 0.5**objective_count / factorial(objective_count)
    )


@register("dtlz2", "two or more objectives, the front a piece of a sphere; hypervolume at most 0.4246 for two")
def dtlz2(dim: int = DIM, objective_count: int = 2, shift: Places = None) -> Problem:
    """The front is where the squares of the objectives sum to 1."""
    return _dtlz("dtlz2", _round, dim, objective_count, shift, 0.5, 1.1, _ball(objective_count))


@register("dtlz7", "two or more objectives, a front in 2^(objectives - 1) pieces; hypervolume at most 189.431 for two")
def dtlz7(dim: int = DIM, objective_count: int = 2, shift: Places = None) -> Problem:
    """All objectives but the last are parameters; the last falls in waves as they grow."""
    # for two objectives by the integral, which a test does again
    lost = 15.0**2 - 189.4307735 if objective_count == 2 else None
    return _dtlz("dtlz7", _torn, dim, objective_count, shift, 0.0, 15.0, lost)


@register(
    "c2-dtlz2", "DTLZ2, feasible near the corners and the middle of its front; hypervolume at most 0.40006 for two"
)
def c2_dtlz2(dim: int = DIM, objective_count: int = 2, shift: Places = None) -> Problem:
    """DTLZ2 within balls round the ends and the middle of the front (Jain and Deb 2014), with BoTorch's two radii."""
    made = dtlz2(dim, objective_count, shift)
    return Problem(
        "c2-dtlz2",
        made.space,
        partial(_within_balls, made.formula),
        made.objectives,
        ("outside <= 0",),
        reference=made.reference,
        hypervolume=C2_DTLZ2 if objective_count == 2 else None,
        settings=made.settings,
    )


def _dtlz(
    name: str, front: Front, dim: int, m: int, shift: Places, usual: float, reference: float, lost: float | None
) -> Problem:
    """Return a problem; `lost` is the part of the reference's cube that no point dominates (None: unknown)."""
    if m < 2 or dim < m:
        raise ValueError(f"expected at least 2 objectives of {name} and as many parameters, got {m} and dim={dim}")
    places = moved(shift, usual, dim - m + 1)
    names = [f"f{i + 1}" for i in range(m)]
    return Problem(
        name,
        Box(0, 1, dim=dim),
        partial(_objectives, front, m, places),
        dict.fromkeys(names, "min"),
        reference=dict.fromkeys(names, reference),
        hypervolume=None if lost is None else reference**m - lost,
        settings={"objectives": m, "places": digest(places)},
    )


def _objectives(front: Front, m: int, places: Floats, x: Floats) -> dict[str, Floats]:
    values = front(x[:, : m - 1], x[:, m - 1 :] - places)  # [n, m]
    return {f"f{i + 1}": column for i, column in enumerate(values.T)}


def _flat(position: Floats, away: Floats) -> Floats:
    g = 100 * (away**2 - np.cos(20 * pi * away) + 1).sum(1)
    return np.asarray((1 + g[:, None]) / 2 * _products(position, 1 - position))


def _round(position: Floats, away: Floats) -> Floats:
    angles = position * pi / 2
    return np.asarray((1 + (away**2).sum(1)[:, None]) * _products(np.cos(angles), np.sin(angles)))


def _torn(position: Floats, away: Floats) -> Floats:
    g = 2 + 9 * np.abs(away).mean(1)[:, None]  # 1 + g of the paper: from 2, on the front, to 11
    waves = (position / g * (1 + np.sin(3 * pi * position))).sum(1, keepdims=True)
    return np.hstack([position, g * (position.shape[1] + 1 - waves)])


def _products(kept: Floats, turned: Floats) -> Floats:
    """Return [n, m]: the product of the first m - 1 of `kept`, of the first m - 2 times what `turned` has next, ..."""
    ones = np.ones((len(kept), 1))
    heads = np.cumprod(np.hstack([ones, kept]), axis=1)[:, ::-1]  # of m - 1, m - 2, ..., 0 factors
    return np.asarray(heads * np.hstack([ones, turned[:, ::-1]]), float)


def _ball(m: int) -> float:
    """Return the part of the unit ball in m dimensions that has no negative coordinate."""
    return float(pi ** (m / 2) / gamma(m / 2 + 1) / 2**m)


def _within_balls(formula: Callable[[Floats], dict[str, Floats]], x: Floats) -> dict[str, Floats]:
    found = formula(x)
    f = np.stack(list(found.values()), axis=1)  # [n, m]
    m = f.shape[1]
    ends = (f**2).sum(1, keepdims=True) - f**2 + (f - 1) ** 2 - (m - 1) * RADIUS**2  # [n, m]
    middle = ((f - m**-0.5) ** 2).sum(1) - m * RADIUS**2
    return found | {"outside": np.minimum(ends.min(1), middle)}
