"""Supernets whose operations can be mixed in shares, for searches by gradients."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from lamcts.neural.nas.base import Point
from lamcts.neural.supernet.base import Supernet

Shares = Mapping[str, Mapping[str, float]]  # of each operation, by place


class Mixture(Supernet):
    """A supernet with `mixed` scores.

    normalised: places by node whose edges have shares of their own. more: operations with a share at every place that
    no point has.
    """

    normalised: Mapping[str, Sequence[str]] = {}
    more: tuple[str, ...] = ()

    def options(self, place: str) -> tuple[str, ...]:
        """Return the operations that have shares of a place."""
        return (*self.region.allowed[place], *self.more)

    def mixed(self, x: Tensor, shares: Sequence[Tensor]) -> Tensor:
        """Return the scores of a mixture of all operations, with shares [m] for each place (Liu et al. 2018)."""
        raise NotImplementedError

    def strongest(self, shares: Shares) -> Point:
        """Return the architecture of the operations with the largest shares; ties go to the first."""
        return {place: max(each, key=each.__getitem__) for place, each in shares.items()}
