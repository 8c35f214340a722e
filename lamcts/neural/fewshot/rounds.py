"""Stop rule of sub-supernets: training in rounds until the mean validation loss is flat."""

from collections.abc import Sequence
from dataclasses import dataclass

from lamcts.neural.supernet.base import Supernet
from lamcts.neural.train.data import Data
from lamcts.neural.train.loop import evaluate, to_device
from lamcts.types import whole_number

EXAMPLES = 512  # training examples for batch-norm statistics, as `SupernetObjective`


@dataclass(frozen=True)
class Rounds:
    """Rounds of training of a sub-supernet, until its mean validation loss is flat.

    A round is one training by the recipe of sub-supernets, with the whole schedule of its learning rate. The loss is
    the mean of eight fixed networks of the sub-supernet. Sub-supernets without a short path may need more rounds than
    their siblings: after equal numbers of steps their networks have too high losses. `Rounds(most=1)` is a fixed number
    of steps, and the default of `FewShot.fit`: on `digits4096` more rounds do not improve the ranking.

    tolerance: relative decrease of the lowest loss that counts as progress (0.02; share); untuned.
    patience: rounds without progress after which training stops (1; rounds); untuned.
    most: rounds at most (8; rounds); untuned.
    """

    tolerance: float = 0.02
    patience: int = 1
    most: int = 8

    def __post_init__(self) -> None:
        whole_number(self.patience, "patience", least=1)
        whole_number(self.most, "most", least=1)
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"tolerance: expected a share of at least 0 and below 1, got {self.tolerance!r}")

    def goes_on(self, losses: Sequence[float]) -> bool:
        """Return whether another round follows, by the mean validation losses after all rounds so far."""
        if len(losses) >= self.most:
            return False
        before, recent = losses[: -self.patience], losses[-self.patience :]
        return not before or min(recent) < (1 - self.tolerance) * min(before)


def mean_loss(net: Supernet, data: Data) -> float:
    """Return the mean validation loss of eight fixed networks, in nats."""
    device = next(net.parameters()).device
    valid, train = (to_device(part, device) for part in (data.valid, data.train))
    nets = [net.subnet(point, [train.x[:EXAMPLES]]) for point in net.judged]
    return sum(evaluate(each, valid)[0] for each in nets) / len(nets)
