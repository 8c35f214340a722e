"""Groups of columns over the same rows: one kernel for a loss and its constraints; of several losses, each its own.

One kernel for several losses fails where one is trivial: a loss that is one of the parameters wants the others to have
no say, and its likelihood, without noise, outweighs all else. Fifty constraints cost one fit and one factor.
Letters: n rows in the model, m rows asked about, q columns, k draws.
"""

import numpy as np
from numpy.typing import NDArray

from lamcts.models.columns import TELLING, ColumnPaths, Columns
from lamcts.models.gp import Hyper
from lamcts.models.paths import Singles
from lamcts.types import Floats

LONGEST = 2.0  # length scale that shapes a box: longer ones are all as good as flat (as TuRBO's own bound)


class Groups:
    """The processes given rows `x` [n, d] and columns `z` [n, q], the first `losses` of which are losses.

    hypers: of each group; one that comes up later (a constraint that nothing broke before) takes the last.
    """

    def __init__(self, x: Floats, z: Floats, losses: int, hypers: list[Hyper]) -> None:
        self.losses, self.hypers, self.x = losses, hypers, x
        self.parts = [Columns(x, own, self._hyper(i)) for i, own in enumerate(parted(z, losses))]

    def _hyper(self, i: int) -> Hyper:
        return self.hypers[min(i, len(self.hypers) - 1)]

    @property
    def z(self) -> Floats:
        """The columns, what was not known completed, [n, q]."""
        return np.hstack([part.z for part in self.parts])

    @property
    def lengths(self) -> Floats:
        """Length scales of all groups together, [d]: those that shape a box."""
        logs = [np.log(np.minimum(part.hyper.lengths, LONGEST)) for part in self.parts]
        result: Floats = np.exp(np.mean(logs, axis=0))
        return result

    def expect(self, x: Floats) -> Floats:
        """Return the posterior means at `x` [m, d], [m, q]."""
        return np.hstack([part.expect(x) for part in self.parts])

    def moments(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the posterior means and variances, without noise, at `x` [m, d], both [m, q]."""
        means, variances = zip(*(part.moments(x) for part in self.parts), strict=True)
        return np.hstack(means), np.hstack(variances)

    def fitted(self) -> Floats:
        """Return the posterior means at the model's own rows, [n, q]."""
        return np.hstack([part.fitted() for part in self.parts])

    def believing(self, x: Floats) -> "Groups":
        """Return the processes as if the columns at `x` [k, d] had come out at their expectation."""
        new = Groups.__new__(Groups)
        new.losses, new.hypers, new.x = self.losses, self.hypers, np.concatenate([self.x, x])
        new.parts = [part.believing(x) for part in self.parts]
        return new

    def slopes(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and variances at `x` [k, d], [k, q] each, and their slopes, [k, q, d] each."""
        of_parts = zip(*(part.slopes(x) for part in self.parts), strict=True)
        mean, variance, way, widening = (np.concatenate(own, axis=1) for own in of_parts)
        return mean, variance, way, widening

    def extended(self, x: Floats, z: Floats) -> "Groups":
        """Return the processes with further rows `x` [k, d]; `z` [n + k, q] are the columns of all rows."""
        new = Groups.__new__(Groups)
        new.losses, new.hypers, new.x = self.losses, self.hypers, np.concatenate([self.x, x])
        own = parted(z, self.losses)
        old = [part.extended(x, mine) for part, mine in zip(self.parts, own, strict=False)]
        fresh = range(len(old), len(own))
        new.parts = old + [Columns(new.x, own[i], self._hyper(i)) for i in fresh]
        return new


def parted(z: Floats, losses: int) -> list[Floats]:
    """Return columns [n, q] by group: all, for one loss; else each loss, and all others together if there are any."""
    if losses == 1:
        return [z]
    single = [z[:, [j]] for j in range(losses)]
    return [*single, z[:, losses:]] if z.shape[1] > losses else single


class GroupPaths:
    """`k` draws of each of the columns."""

    def __init__(self, groups: Groups, k: int, rng: np.random.Generator) -> None:
        losses = np.hstack([part.z[:TELLING] for part in groups.parts[: groups.losses]])
        order = (
            [0]
            if len(groups.parts) == 1
            else [*np.lexsort(losses[::-1]).tolist(), *range(groups.losses, len(groups.parts))]
        )
        drawn = {i: ColumnPaths(groups.parts[i], k, rng) for i in order}
        self.parts = [drawn[i] for i in range(len(groups.parts))]

    def __call__(self, x: Floats) -> NDArray[np.float32]:
        """Return the draws at `x` [m, d], [m, k, q]."""
        return np.concatenate([part.many(x) for part in self.parts], axis=2)

    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d], [k, q] and [k, q, d]."""
        values, gradients = zip(*(part.slopes(x) for part in self.parts), strict=True)
        return np.concatenate(values, axis=1), np.concatenate(gradients, axis=1)
