"""Finalists of an evolution: the best children, trained with several seeds, and their Pareto front."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.neural import train
from lamcts.neural.evolve.search.found import PERCENT, Child
from lamcts.neural.evolve.search.parents import select

if TYPE_CHECKING:
    from lamcts import Result
    from lamcts.neural.evolve import Evolution
    from lamcts.neural.train.loop import Trained


def best_points(evolution: "Evolution", result: "Result", count: int) -> list[dict[str, Any]]:
    """Return the points to train with several seeds: the best by accuracy, and others.

    With costs as objectives, the others are of the Pareto front, by their sums of ranks among all children (A.5.4), so
    that children of low cost are finalists, too. Else, and behind the front, they are the next by accuracy.
    """
    names = list(evolution.space.decode(np.zeros(evolution.space.dim)))
    score = evolution.training.score
    rows = [row for row in result.rows() if not row["message"] and math.isfinite(row[score])]
    rows = [row for row in rows if any(row[name] for name in names)]  # not the parent
    if not rows:
        last = next((row["message"] for row in reversed(result.rows()) if row["message"]), result.message)
        raise ValueError(f"recipe: expected one that trains the network or a child, got no child but failures: {last}")
    sign = -1.0 if evolution.training.maximize else 1.0
    rows.sort(key=lambda row: sign * row[score])
    points = [{name: row[name] for name in names} for row in rows]
    if evolution.against:
        front = [tuple(one.point.values()) for one in result.front]
        losses = np.array([[sign * row[score], *(row[cost] for cost in evolution.against)] for row in rows])
        ranked = select(losses, np.array([], dtype=int), len(rows), np.random.default_rng(0))
        others = [points[i] for i in ranked if i and tuple(points[i].values()) in front]
        points = [points[0], *others, *(one for one in points[1:] if one not in others)]
    return points[:count]


def trained(evolution: "Evolution", point: dict[str, Any], seeds: Sequence[int]) -> Child:
    """Return a child after trainings with all seeds; warn of a training that fails."""
    trainings = [_training(evolution, point, seed) for seed in seeds]
    done = [one for one in trainings if one is not None]
    best = max(done, key=lambda one: one.valid_accuracy).net if done else evolution.networks.network(point, seed=0)
    paths, path = evolution.networks.paths, evolution.networks.path(point)
    return Child(
        point,
        paths.child(path) or paths.graph,
        [math.nan if one is None else PERCENT * one.valid_accuracy for one in trainings],
        [math.nan if one is None else PERCENT * one.test_accuracy for one in trainings],
        evolution.cost(point),
        evolution,
        {name: value.detach().cpu().clone() for name, value in best.state_dict().items()},
    )


def _training(evolution: "Evolution", point: dict[str, Any], seed: int) -> "Trained | None":
    try:
        return evolution.train(point, seed)
    except train.TrainingFailed as error:
        steps = len(evolution.networks.path(point))
        what = f"the network after {steps} edits" if steps else "the parent"
        warnings.warn(f"{what}, seed {seed}: the training failed: {error}", UserWarning, stacklevel=4)
        return None


def ordered(children: Sequence[Child]) -> list[Child]:
    """Return children by descending accuracy, those with a failed training last."""
    return sorted(children, key=lambda child: (math.isnan(child.accuracy), -child.accuracy))


def front_of(children: Sequence[Child], against: Sequence[str], caps: Mapping[str, float]) -> list[Child]:
    """Return the children within all caps that no other one beats in accuracy and all costs, in their order."""
    whole = [child for child in children if not math.isnan(child.accuracy)]
    if not whole:
        raise ValueError("recipe: expected one that trains a finalist with all seeds, got a failure for each finalist")
    if not (whole := [child for child in whole if all(child.costs[name] <= cap for name, cap in caps.items())]):
        raise ValueError(f"at_most: expected a finalist within {dict(caps)}, got none; raise the cap, or the budget")

    def losses(child: Child) -> list[float]:
        return [-child.accuracy, *(child.costs[name] for name in against)]

    def dominated(one: Child) -> bool:
        mine = losses(one)
        others = [losses(other) for other in whole if other is not one]
        return any(all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine for other in others)

    return [child for child in whole if not dominated(child)]
