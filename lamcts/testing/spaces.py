"""The contract of spaces (`lamcts.spaces.base`)."""

import json
import math

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Parameters, active_coordinates
from lamcts.testing.search import expect, watched
from lamcts.types import Floats, Rows

ROUNDING = 1e-9  # of the unit cube: what going to a user's units and back may cost a continuous coordinate
COUNTED = 300  # spaces of at most so many points are checked point by point: it takes 50 draws of each


def check_space(space: SearchSpace, seed: int = 0) -> None:
    """Check that a space is what samplers and the optimizer rely on.

    Parameters
    ----------
    space : SearchSpace
        The space.
    seed : int, default 0
        Seed of the points that are encoded and decoded.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_space(lamcts.Space({"lr": lamcts.Float(1e-5, 1e-1, log=True), "depth": lamcts.Int(1, 8)}))
    """
    for check in (_shape, _snap, _round_trip, _spread, _rubbish):
        with watched(f"{space!r}, {check.__name__.strip('_').replace('_', ' ')}"):
            check(space, seed)


def _shape(space: SearchSpace, seed: int) -> None:
    """What the space says of itself fits together."""
    dim, size = space.dim, space.size
    expect(isinstance(dim, int) and dim >= 1, "dim: a whole number of at least 1", repr(dim))
    expect(size >= 1, "size: at least 1, infinite where a coordinate is continuous", size)
    continuous = np.asarray(space.continuous)
    expect(continuous.dtype == bool and continuous.shape == (dim,), f"continuous: booleans [{dim}]", continuous)
    expect(math.isinf(size) or not continuous.any(), "size: infinite where a coordinate is continuous", size)
    edges = [edge for block in space.blocks for edge in (block.start, block.stop)]
    expect(
        edges and edges[0] == 0 and edges[-1] == dim and edges[1:-1:2] == edges[2:-1:2],
        f"blocks: slices that cover 0 to {dim} in order",
        space.blocks,
    )
    text = json.dumps(space.signature(), allow_nan=False)
    expect(text == json.dumps(space.signature()), "signature: the same values at every call")


def _snap(space: SearchSpace, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    x = rng.uniform(-0.2, 1.2, (64, space.dim))  # [n, dim], some outside the cube
    given = x.copy()
    snapped = space.snap(x)
    expect(np.array_equal(x, given), "snap: its argument left as it was", "changed")
    _valid(space, snapped, "snap")
    alone = np.vstack([space.snap(row[None]) for row in x])
    expect(np.array_equal(alone, snapped), "snap: an answer for a row that does not depend on the other rows")
    expect(space.snap(x[:0]).shape == (0, space.dim), f"snap: shape [0, {space.dim}] for no rows")


def _round_trip(space: SearchSpace, seed: int) -> None:
    """Valid rows, sampled or snapped, survive the way to the user's units and back."""
    rng = np.random.default_rng([seed, 2])
    exact = ~np.asarray(space.continuous)
    for x in np.vstack([space.sample(64, rng), space.snap(rng.random((64, space.dim)))]):
        point = space.decode(x)
        back = np.asarray(space.encode(point))
        expect(back.shape == (space.dim,), f"encode: shape [{space.dim}]", back.shape)
        expect(
            np.array_equal(back[exact], x[exact]) and np.abs(back - x).max() <= ROUNDING,
            f"encode(decode(x)): x again, {x.tolist()}",
            f"{back.tolist()} by way of {point!r}",
        )
        expect(np.array_equal(space.encode(point), back), "encode: the same row for the same point", "another")
        _valid(space, back[None], "encode")


def _spread(space: SearchSpace, seed: int) -> None:
    """`sample` and `spread` give valid rows, each point as likely as the next with the same parameters active."""
    rng = np.random.default_rng([seed, 3])
    n = 4000 if math.isinf(space.size) or space.size > COUNTED else 50 * int(space.size)
    parameters = Parameters(space)
    joint = np.repeat(parameters.in_joint, parameters.widths)  # coordinates that depend on others: no uniform ones
    first, again = (space.sample(20, np.random.default_rng([seed, 4])) for _ in range(2))
    expect(np.array_equal(first, again), "sample: the same rows from the same generator", "others")
    for name, x in (("sample", space.sample(n, rng)), ("spread", space.spread(rng.random((n, space.dim))))):
        expect(x.shape == (n, space.dim), f"{name}: shape [{n}, {space.dim}]", x.shape)
        _valid(space, x, name)
        active = active_coordinates(space, x)
        for j in np.flatnonzero(np.asarray(space.continuous) & ~joint):
            _uniform(np.sort(x[active[:, j], j]), f"{name}: coordinate {j}")
        if space.size <= COUNTED:
            points, counts = np.unique(x, axis=0, return_counts=True)
            expect(len(counts) <= space.size, f"{name}: no more points than {space.size:.0f}", len(counts))
            branch = np.unique(active_coordinates(space, points), axis=0, return_inverse=True)[1].ravel()
            if not branch.any():
                expect(len(counts) == space.size, f"{name}: all {space.size:.0f} points among {n} rows", len(counts))
            for number in range(branch.max() + 1):
                _even(counts[branch == number], f"{name}: equally likely points")


def _uniform(column: Floats, what: str) -> None:
    """Kolmogorov-Smirnov against the uniform law, of sorted values; 2.2 / sqrt(n) is exceeded once in ten thousand."""
    n = len(column)
    if not n:  # of a parameter that is hardly ever active
        return
    steps = np.arange(n + 1) / n
    gap = max(float((steps[1:] - column).max()), float((column - steps[:-1]).max()))
    expect(gap <= 2.2 / math.sqrt(n), f"{what} uniform in [0, 1]", f"a gap of {gap:.3f}")


def _even(counts: Rows, what: str) -> None:
    usual = counts.mean()
    chi2, free = float(((counts - usual) ** 2 / usual).sum()), len(counts) - 1
    expect(chi2 <= free + 5 * math.sqrt(2 * free) + 10, what, counts.tolist())


def _rubbish(space: SearchSpace, seed: int) -> None:
    """What is no point of the space is a ValueError."""
    for rubbish in (object(), {"no such name": object()}, [object()] * (space.dim + 1), [[math.nan]]):
        try:
            x = space.encode(rubbish)
        except ValueError as error:
            expect(str(error).strip(), "encode: a message in the ValueError", "none")
        except Exception as error:
            expect(False, f"encode({rubbish!r}): a ValueError", type(error).__name__)
        else:
            expect(False, f"encode({rubbish!r}): a ValueError", x)


def _valid(space: SearchSpace, x: Floats, name: str) -> None:
    """Check that rows are float64 in the cube and that `snap` leaves them as they are, bit for bit."""
    expect(isinstance(x, np.ndarray) and x.dtype == np.float64, f"{name}: an array of float64", type(x).__name__)
    rows: Floats = x
    expect(
        ((rows >= 0) & (rows <= 1)).all(), f"{name}: rows in the unit cube", rows[((rows < 0) | (rows > 1)).any(1)][:1]
    )
    moved = (space.snap(rows) != rows).any(1)
    expect(not moved.any(), f"{name}: rows that snap leaves as they are", rows[moved][:1])
