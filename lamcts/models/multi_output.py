"""Posteriors of all columns, losses first, then constraints; each part has its rows and its kernel.

A kernel shared by several losses fails where one of them is trivial. A loss that equals a parameter makes the kernel
ignore the others, since its likelihood without noise outweighs those of the other losses. Constraints share a part, so
fifty of them cost one fit and one factor. Letters: m query rows, q columns, d numbers.
"""

from collections.abc import Sequence

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.posterior import Posterior
from lamcts.types import Floats

MAX_BOX_LENGTH = 2.0  # bound of the length scales that shape a box: functions of longer ones are flat; as in TuRBO


class MultiOutput:
    """Posteriors of all columns, in order; the first `losses` columns are losses."""

    def __init__(self, parts: Sequence[Posterior], losses: int) -> None:
        self.parts = list(parts)
        self.losses = losses

    @property
    def lengths(self) -> Floats:
        """Length scales that shape a box, [d]: the geometric mean over the parts."""
        if len(self.parts) == 1:
            return self.parts[0].hyper.lengths  # without a bound (tuned)
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
        mean, variance, by_mean, by_variance = (np.concatenate(columns, axis=1) for columns in of_parts)
        return mean, variance, by_mean, by_variance

    def fantasize(self, inputs: Inputs) -> "MultiOutput":
        """Return the posteriors after fantasies: the columns at some rows take their posterior means."""
        return MultiOutput([part.fantasize(inputs) for part in self.parts], self.losses)
