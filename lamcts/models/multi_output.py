"""Posteriors of all columns side by side: losses first, then constraints; each part has rows and a kernel of its own.

One kernel for several losses fails where one is trivial: a loss that is one of the parameters wants the others to have
no say, and its likelihood, without noise, outweighs all else. Fifty constraints cost one fit and one factor.
Letters: n rows in the model, m rows asked about, q columns, k draws.
"""

from collections.abc import Sequence

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.posterior import Posterior
from lamcts.types import Floats

MAX_BOX_LENGTH = 2.0  # length scale that shapes a box: longer ones are all as good as flat (as TuRBO's own bound)


class MultiOutput:
    """The posteriors of all columns, in order, the first `losses` columns of which are losses."""

    def __init__(self, parts: Sequence[Posterior], losses: int) -> None:
        self.parts, self.losses = list(parts), losses

    @property
    def lengths(self) -> Floats:
        """Length scales of all parts together, [d]: those that shape a box."""
        if len(self.parts) == 1:
            return self.parts[0].hyper.lengths  # of a lone loss as they are (tuned so)
        logs = [np.log(np.minimum(part.hyper.lengths, MAX_BOX_LENGTH)) for part in self.parts]
        result: Floats = np.exp(np.mean(logs, axis=0))
        return result

    def expect(self, inputs: Inputs) -> Floats:
        """Return the posterior means, [m, q]."""
        return np.hstack([part.expect(inputs) for part in self.parts])

    def moments(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the posterior means and variances, without noise, both [m, q]."""
        means, variances = zip(*(part.moments(inputs) for part in self.parts), strict=True)
        return np.hstack(means), np.hstack(variances)

    def slopes(self, inputs: Inputs) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and variances, [m, q] each, and their slopes along the numbers, [m, q, d] each."""
        of_parts = zip(*(part.slopes(inputs) for part in self.parts), strict=True)
        mean, variance, by_mean, by_variance = (np.concatenate(own, axis=1) for own in of_parts)
        return mean, variance, by_mean, by_variance

    def fantasize(self, inputs: Inputs) -> "MultiOutput":
        """Return the posteriors as if the columns at some rows had come out at their means."""
        return MultiOutput([part.fantasize(inputs) for part in self.parts], self.losses)
