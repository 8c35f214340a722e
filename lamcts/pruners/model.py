"""Early stopping by a model of learning curves (Swersky et al. 2014, freeze-thaw)."""

from dataclasses import dataclass
from typing import ClassVar

from lamcts.pruners.curves import Curves
from lamcts.pruners.fronts import chance_on_front
from lamcts.pruners.registry import register
from lamcts.types import whole_number


@register("model", "a Gaussian process over points and steps predicts that the trial will hardly be the best")
@dataclass(frozen=True)
class Model:
    """Stop a trial that a model of all learning curves gives little chance to end best.

    The model is a Gaussian process over points and steps. It learns from finished and pruned trials. With several
    objectives each has a model, and a trial ends best if no finished trial dominates its final losses.

    Parameters
    ----------
    startup : int, default 5
        Number of trials that finish before any trial is stopped; as in `Median`.
    warmup : float, default 1/9
        Share of the final step before which no trial is stopped; two rungs of Hyperband before the last.
    chance : float, default 0.2
        Least chance of a better final loss than that of every finished trial, at which a trial continues. Tuned: of
        0.05, 0.2 and 0.4 the best compromise of epochs and ends in benchmarks/neural/pruning_curves.py.

    Notes
    -----
    With several objectives the final losses of a trial are independent normals in the units of their models. Their
    chance is exact: a sum over disjoint boxes, which are what the front of finished trials does not dominate.

    References
    ----------
    Swersky, Snoek and Adams (2014), Freeze-thaw Bayesian optimization, arXiv 1406.3896.

    Examples
    --------
    >>> from lamcts import pruners
    >>> curves = pruners.Curves()
    >>> for number, limit in enumerate([0.1, 0.2, 0.3, 0.4, 0.9, 0.05]):
    ...     for step in range(1, 10 if number < 5 else 4):
    ...         curves.add(number, step, limit + 1 / step)
    ...     if number < 5:
    ...         curves.finish(number, limit + 1 / 9)
    >>> curves.add(6, 1, 1.9)
    >>> pruners.Model().prune(5, curves), pruners.Model().prune(6, curves)
    (False, True)
    """

    several: ClassVar[bool] = True
    startup: int = 5
    warmup: float = 1 / 9
    chance: float = 0.2

    def __post_init__(self) -> None:
        whole_number(self.startup, "startup", least=1)
        for name, value in (("warmup", self.warmup), ("chance", self.chance)):
            if not 0 <= value <= 1:
                raise ValueError(f"{name}: expected a number from 0 to 1, got {value!r}")

    def prune(self, number: int, curves: Curves) -> bool:
        """Return whether the trial should stop now, after its last report."""
        last = curves.last(number)
        if last is None or len(curves.ends) < self.startup or (found := curves.forecast()) is None:
            return False
        if last[0] < self.warmup * found.last:
            return False
        if len(curves.objectives) > 1:
            return chance_on_front(number, curves) < self.chance
        return found.chance(number, curves, min(curves.ends.values())) < self.chance
