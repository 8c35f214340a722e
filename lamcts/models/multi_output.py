"""A process of all columns, in groups: one kernel for a loss and its constraints; of several losses, each its own.

One kernel for several losses fails where one is trivial: a loss that is one of the parameters wants the others to have
no say, and its likelihood, without noise, outweighs all else. Fifty constraints cost one fit and one factor.
Letters: n rows in the model, m rows asked about, q columns, k draws.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamcts.models.gp import GaussianProcess, Hyper
from lamcts.models.kernel import Real
from lamcts.models.known_noise import KnownNoise
from lamcts.models.posterior_paths import ORDER_ROWS, PosteriorPaths, Singles
from lamcts.types import Floats

MAX_BOX_LENGTH = 2.0  # length scale that shapes a box: longer ones are all as good as flat (as TuRBO's own bound)


class MultiOutput:
    """The processes given rows `x` [n, d] and columns `z` [n, q], the first `losses` of which are losses.

    hypers: one for each group; a group that appears later uses the last.
    kind: the class of the processes. known: the known noise of each loss; no other group then has its kernel.
    """

    def __init__(
        self,
        x: Floats,
        z: Floats,
        losses: int,
        hypers: list[Hyper],
        kind: type[GaussianProcess] = GaussianProcess,
        known: Sequence[KnownNoise | None] = (),
    ) -> None:
        self.losses, self.hypers, self.x, self.kind, self.apart = losses, hypers, x, kind, bool(known)
        groups = grouped(z, losses, self.apart)
        noises = [*known, *[None] * len(groups)]
        self.parts = [kind(x, own, self._hyper(i), noises[i]) for i, own in enumerate(groups)]

    def _hyper(self, i: int) -> Hyper:
        return self.hypers[min(i, len(self.hypers) - 1)]

    @property
    def z(self) -> Floats:
        """The columns, unknown entries completed, [n, q]."""
        return joined([part.z for part in self.parts])

    @property
    def lengths(self) -> Floats:
        """Length scales of all groups together, [d]: those that shape a box."""
        if len(self.parts) == 1 and self.z.shape[1] == 1:
            return self.parts[0].hyper.lengths  # of a lone loss as they are (tuned so)
        logs = [np.log(np.minimum(part.hyper.lengths, MAX_BOX_LENGTH)) for part in self.parts]
        result: Floats = np.exp(np.mean(logs, axis=0))
        return result

    def expect(self, x: Floats) -> Floats:
        """Return the posterior means at `x` [m, d], [m, q]."""
        return joined([part.expect(x) for part in self.parts])

    def moments(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the posterior means and variances, without noise, at `x` [m, d], both [m, q]."""
        means, variances = zip(*(part.moments(x) for part in self.parts), strict=True)
        return joined(means), joined(variances)

    def fitted(self) -> Floats:
        """Return the posterior means at the model's own rows, [n, q]."""
        return joined([part.fitted() for part in self.parts])

    def fantasize(self, x: Floats) -> "MultiOutput":
        """Return the processes as if the columns at `x` [k, d] had come out at their expectation."""
        return self._with(x, [part.fantasize(x) for part in self.parts])

    def slopes(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and variances at `x` [k, d], [k, q] each, and their slopes, [k, q, d] each."""
        of_parts = zip(*(part.slopes(x) for part in self.parts), strict=True)
        mean, variance, way, widening = (joined(own) for own in of_parts)
        return mean, variance, way, widening

    def extended(self, x: Floats, z: Floats) -> "MultiOutput":
        """Return the processes with further rows `x` [k, d]; `z` [n + k, q] are the columns of all rows."""
        own = grouped(z, self.losses, self.apart)
        new = self._with(x, [part.extended(x, mine) for part, mine in zip(self.parts, own, strict=False)])
        fresh = range(len(new.parts), len(own))
        new.parts += [self.kind(new.x, own[i], self._hyper(i)) for i in fresh]
        return new

    def _with(self, x: Floats, parts: list[GaussianProcess]) -> "MultiOutput":
        new = MultiOutput.__new__(MultiOutput)
        new.losses, new.hypers, new.x, new.kind = self.losses, self.hypers, np.concatenate([self.x, x]), self.kind
        new.parts, new.apart = parts, self.apart
        return new


def joined(columns: Sequence[NDArray[Real]], axis: int = 1) -> NDArray[Real]:
    """Return arrays of columns side by side; a lone one as it is."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=axis)


def grouped(z: Floats, losses: int, apart: bool = False) -> list[Floats]:
    """Return columns [n, q] by group: all, for one loss; else each loss, and all others together if there are any.

    apart: one loss is a group of its own, too.
    """
    if losses == 1 and not apart:
        return [z]
    single = [z[:, [j]] for j in range(losses)]
    return [*single, z[:, losses:]] if z.shape[1] > losses else single


class MultiOutputPaths:
    """`k` draws of each of the columns."""

    def __init__(self, model: MultiOutput, k: int, rng: np.random.Generator) -> None:
        order = [0]
        if len(model.parts) > 1:  # losses by content, not by the order in which they are told
            losses = np.hstack([part.z[:ORDER_ROWS] for part in model.parts[: model.losses]])
            order = [*np.lexsort(losses[::-1]).tolist(), *range(model.losses, len(model.parts))]
        drawn = {i: PosteriorPaths(model.parts[i], k, rng) for i in order}
        self.parts = [drawn[i] for i in range(len(model.parts))]

    def __call__(self, x: Floats) -> Singles:
        """Return the draws at `x` [m, d], [m, k, q]."""
        return joined([part(x) for part in self.parts], axis=2)

    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d], [k, q] and [k, q, d]."""
        values, gradients = zip(*(part.slopes(x) for part in self.parts), strict=True)
        return joined(values), joined(gradients)
