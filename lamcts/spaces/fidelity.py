"""A fidelity: how much of an evaluation is done, from a cheap least value to the full one.

Letters: n rows, d coordinates. A row of the space has the fidelity in one `column`; without it, it is a configuration.
"""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lamcts.spaces.base import EncodedSpace, SearchSpace, unwrapped, when_of
from lamcts.spaces.fixed import fixed, keys_of
from lamcts.spaces.integer import Int
from lamcts.spaces.kinds import register
from lamcts.spaces.point_keys import PointKeys
from lamcts.spaces.product import Space
from lamcts.spaces.values import flag, whole
from lamcts.types import Floats, Mask, Rows

FACTOR = 3  # between two levels that a run proposes, as in Hyperband (Li et al. 2018)
WHERE = "expected at most one Fidelity, next to other parameters of a Space"


@register("fidelity")
@dataclass(frozen=True, eq=False, repr=False)
class Fidelity(Int):
    """How much of an evaluation is done: epochs, samples, folds, steps. The run chooses it for each evaluation.

    Parameters
    ----------
    low, high : int
        The least fidelity, at least 1, and the full one. The cost of an evaluation is proportional to its fidelity.
    log : bool, default True
        Equal factors are equally far apart in models.
    resumes : bool, default False
        Whether the objective goes on from its checkpoint in `trial.folder`: a configuration that is evaluated again
        at a higher fidelity then costs the difference alone.

    Notes
    -----
    A space has one fidelity at most. Values at different fidelities are not compared: the best is an evaluation at
    `high`.

    Examples
    --------
    >>> import lamcts
    >>> space = {"lr": lamcts.Float(1e-4, 1, log=True), "epochs": lamcts.Fidelity(1, 27)}
    >>> def loss(point):
    ...     return abs(point["lr"] - 0.1) + 1 / point["epochs"]
    >>> lamcts.minimize(loss, space, budget=12, seed=0).x["epochs"]
    27
    """

    log: bool = True
    resumes: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if not 1 <= whole(self.low, "low") < whole(self.high, "high"):
            raise ValueError(f"Fidelity: expected 1 <= low < high, got low={self.low}, high={self.high}; swap or raise")
        super().__post_init__()
        self._set(resumes=flag(self.resumes, "resumes"))
        if self.step is not None:
            raise ValueError(f"Fidelity: expected no step, got {self.step}; leave it out: the run chooses the levels")
        if self.when:
            raise ValueError(
                "Fidelity: expected no condition, got `when`; leave it out: every evaluation has a fidelity"
            )

    @property
    def levels(self) -> tuple[int, ...]:
        """The fidelities that a run proposes: `low`, and `high` divided by powers of 3 that is not near `low`."""
        levels = {self.low, self.high}
        level = self.high / FACTOR
        while round(level) > self.low * math.sqrt(FACTOR):
            levels.add(round(level))
            level /= FACTOR
        return tuple(sorted(levels))


class FidelityAxis(NamedTuple):
    """The fidelity of a space: its name (or number), its column in the encoding, and the space at full fidelity.

    Points of `rest` are whole points at full fidelity; its rows lack the column. `keys`: those of its points.
    """

    name: str | int
    column: int
    fidelity: Fidelity
    rest: SearchSpace
    keys: PointKeys

    @classmethod
    def of(cls, space: SearchSpace) -> "FidelityAxis | None":
        """Return the fidelity of a space, None if it has none; ValueError for a fidelity in another place."""
        if not _count(space):
            return None
        inner = unwrapped(space)
        members = inner.members if isinstance(inner, Space) else ()
        indices = [i for i, member in enumerate(members) if isinstance(member, Fidelity)]
        if not isinstance(inner, Space) or len(indices) != 1 or _count(space) > 1 or len(members) == 1:
            raise ValueError(f"Fidelity: {WHERE}, got {inner!r:.80}; move it, or fix all but one (fix=)")
        name = keys_of(inner)[indices[0]]
        if any(name in when_of(member) for member in members):
            raise ValueError(
                f"Fidelity: expected no condition (when) on {name!r}, got one; every fidelity has all parameters"
            )
        fidelity = members[indices[0]]
        assert isinstance(fidelity, Fidelity)
        rest = fixed(space, {name: fidelity.high})
        return cls(name, inner.parts[indices[0]].start, fidelity, rest, PointKeys(rest))

    def of_rows(self, x: Floats) -> Rows:
        """Return the fidelities of rows `x` [n, d], [n]."""
        codes, owner = np.unique(x[:, self.column], return_inverse=True)
        return np.array([self.fidelity.decode(code[None]) for code in codes], np.int64)[owner]

    def without(self, x: Floats) -> Floats:
        """Return the configurations of rows `x` [n, d], [n, d - 1]."""
        return np.delete(x, self.column, axis=1)

    def owners(self, x: Floats) -> list[Hashable]:
        """Return what rows `x` [n, d] of one configuration share, whatever their fidelities, [n]."""
        rest = self.without(x) + 0.0
        return [row.tobytes() if key is None else key for key, row in zip(self.keys(rest), rest, strict=True)]

    def at(self, configurations: Floats, fidelities: int | Iterable[int]) -> Floats:
        """Return the rows [n, d] of configurations [n, d - 1] at a fidelity, or at one each."""
        by_row = [fidelities] * len(configurations) if isinstance(fidelities, int) else [*fidelities]
        column = np.array([self.fidelity.encode(int(fidelity))[0] for fidelity in by_row])
        return np.insert(configurations, self.column, column, axis=1)

    def partial(self, x: Floats) -> Mask:
        """Return which rows of `x` [n, d] are below full fidelity, [n]."""
        return np.asarray(x[:, self.column] < 1.0)


def configuration(axis: FidelityAxis | None, x: Floats) -> Hashable:
    """Return what rows x [d] of one configuration share."""
    return (x + 0.0).tobytes() if axis is None else axis.owners(x[None])[0]


def at_least_fidelity(space: SearchSpace, x: Floats) -> Floats:
    """Return rows `x` [n, d] at the least fidelity of a space; `x` itself if it has none."""
    axis = FidelityAxis.of(space)
    return x if axis is None else axis.at(axis.without(x), axis.fidelity.low)


def _count(space: SearchSpace | None) -> int:
    """Return how many fidelities a space contains, those of nested spaces included."""
    inner = None if space is None else unwrapped(space)
    if isinstance(inner, Fidelity):
        return 1
    return sum(map(_count, inner.members)) if isinstance(inner, EncodedSpace) else 0
