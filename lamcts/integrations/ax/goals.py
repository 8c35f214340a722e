"""What an experiment of Ax is after, as our optimizer takes it, and means of its metrics as what is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Weights = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class AxGoals:
    """Sums of metrics with weights: objectives, all to be as great as may be, and quantities with a bound.

    constraints: of each the weights, whether it is to be at most its bound, else at least, and the bound.
    """

    objectives: tuple[Weights, ...]
    constraints: tuple[tuple[Weights, bool, float], ...]

    def arguments(self) -> dict[str, Any]:
        """Return what `lamcts.Optimizer` takes."""
        bounds = [f"{_name(i)} {'<=' if most else '>='} {bound}" for i, (_, most, bound) in enumerate(self.constraints)]
        several = {"objectives": {_goal(i): "max" for i in range(len(self.objectives))}}
        return (several if len(self.objectives) > 1 else {"maximize": True}) | {"constraints": bounds or None}

    def told(self, means: Mapping[str, float] | None) -> tuple[Any, dict[str, float | None] | None]:
        """Return value and constraints of an arm by the means of its metrics; None: it failed."""
        if means is None:
            return None, dict.fromkeys(map(_name, range(len(self.constraints)))) if self.constraints else None
        values = [_sum(weights, means) for weights in self.objectives]
        held: dict[str, float | None] = {
            _name(i): _sum(weights, means) for i, (weights, *_) in enumerate(self.constraints)
        }
        value: Any = values[0] if len(values) == 1 else {_goal(i): value for i, value in enumerate(values)}
        return value, held or None

    def complete(self, means: Mapping[str, float]) -> bool:
        """Return whether there is a mean of each metric."""
        sums = [*self.objectives, *(weights for weights, *_ in self.constraints)]
        return all(name in means for weights in sums for name, _ in weights)


def goals_of(config: Any) -> AxGoals:
    """Return the goals of an `OptimizationConfig`; ValueError where it has none, or bounds that are relative."""
    if config is None:
        raise ValueError("expected an experiment with an objective, got none; call client.configure_optimization first")
    weights = [tuple(pair) for pair in config.objective.metric_weights]
    if not config.objective.is_multi_objective:
        objectives: tuple[Weights, ...] = (tuple(weights),)
    elif len(weights) == len(config.objective.expression.split(",")):
        objectives = tuple((pair,) for pair in weights)
    else:
        raise ValueError(f"expected objectives that are a metric each, got {config.objective.expression}")
    return AxGoals(objectives, tuple(map(_constraint, config.outcome_constraints)))


def _constraint(one: Any) -> tuple[Weights, bool, float]:
    if one.relative:
        raise ValueError(f"expected outcome constraints with bounds of their own, got the relative {one}")
    return tuple(tuple(pair) for pair in one.metric_weights), one.op.name == "LEQ", float(one.bound)


def _sum(weights: Sequence[tuple[str, float]], means: Mapping[str, float]) -> float:
    return float(sum(weight * means[name] for name, weight in weights))


def _goal(i: int) -> str:
    return f"objective{i}"


def _name(i: int) -> str:
    return f"constraint{i}"
