"""Moves of discrete searches: one parameter changes to another of its values.

A table's row, an order, a mixture and a subset count as one parameter. Letters: n rows, p parameters, k neighbours.
"""

import numpy as np

from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Rows

# Each neighbour costs a prediction of the model, so these numbers trade time for a closer look.
EVERY = 32  # levels of an ordered parameter that are all neighbours; of more, those 1, 2, 4, ... steps away
MOST_OPTIONS = 256  # options of a category that are all neighbours
DRAWN_OPTIONS = 64  # random options of a larger category
STEPS = (0.3, 0.1, 0.03, 0.01)  # standard deviations of steps of a real number, as shares of its range
WIDER = 2.0 ** np.arange(8)  # factors of a step that is smaller than the distance of two levels, in turn
ENTERED = 8  # random values of each parameter that a move activates


def exchanges(parameters: Parameters, z: Floats, rng: np.random.Generator, known: Floats | None = None) -> Floats:
    """Return the neighbours [k, p] of codes `z` [p], with one active parameter changed.

    A real number takes a few Gaussian steps. A category with very many options takes those of the `known` codes [m, p]
    and some random ones, since options without evaluations are equal to a model. Parameters that a move activates take
    several random values.
    """
    active = parameters.active(z[None])[0]
    known = z[None] if known is None else known
    others = [_others(parameters, int(i), z, known, rng) for i in np.flatnonzero(active & parameters.move_units)]
    neighbours = np.repeat(z[None], sum(len(values) for _, values in others), axis=0)
    first = 0
    for part, values in others:
        neighbours[first : first + len(values), part] = values
        first += len(values)
    if parameters.conditional and len(neighbours):
        is_entering = (parameters.active(neighbours) & ~active).any(1)
        neighbours = np.vstack([neighbours, np.repeat(neighbours[is_entering], ENTERED - 1, axis=0)])
    return parameters.entered(neighbours, np.broadcast_to(active, neighbours.shape), rng)


def mutations(parameters: Parameters, z: Floats, rng: np.random.Generator, moves: float = 1.0) -> Floats:
    """Return codes `z` [n, p] with at least one active parameter changed in each row."""
    n, p = z.shape
    is_active = parameters.active(z)
    can_move = is_active & parameters.move_units
    chance = (moves - 1.0) / np.maximum(can_move.sum(1, keepdims=True) - 1, 1)  # [n, 1]
    moved = rng.random((n, p)) < chance
    moved[np.arange(n), np.where(can_move, rng.random((n, p)), -1.0).argmax(1)] = True
    moved &= can_move
    result = z.copy()
    joint = {joint_columns.part.start: joint_columns for joint_columns in parameters.joint}
    for i in np.flatnonzero(moved.any(0)):
        rows = np.flatnonzero(moved[:, i])
        if (joint_columns := joint.get(int(i))) is not None:
            result[rows, joint_columns.part] = joint_columns.space.random_neighbours(z[rows, joint_columns.part], rng)
        else:
            result[rows, i] = _moved(parameters, int(i), z[rows, i], rng)
    return parameters.entered(result, is_active, rng)


def is_long(parameters: Parameters, i: int) -> bool:
    """Return whether parameter `i` is a category with too many options to try all."""
    levels = parameters.levels[i]
    return levels is not None and bool(parameters.categorical[i]) and len(levels) > MOST_OPTIONS


def _others(parameters: Parameters, i: int, z: Floats, known: Floats, rng: np.random.Generator) -> tuple[slice, Floats]:
    """Return the columns of move unit `i`, and other values for them, [k, columns]."""
    for part, space in parameters.joint:
        if part.start == i:
            return part, space.neighbours(z[part], rng)
    levels = parameters.levels[i]
    value = float(z[i])
    if levels is None:
        reached = parameters.valid(i, _reflected(value + rng.standard_normal(len(STEPS)) * STEPS))
        others = np.unique(reached[reached != value])
    elif is_long(parameters, i):
        drawn = np.union1d(levels[rng.integers(0, len(levels), DRAWN_OPTIONS)], known[:, i])
        others = drawn[drawn != value]
    elif parameters.categorical[i] or len(levels) <= EVERY:
        others = levels[levels != value]
    else:
        position = int(np.abs(levels - value).argmin())
        distances = 2 ** np.arange(int(np.log2(len(levels))) + 1)
        positions = np.concatenate([position - distances, position + distances])
        others = levels[positions[(positions >= 0) & (positions < len(levels))]]
    return slice(i, i + 1), others[:, None]


def _moved(parameters: Parameters, i: int, values: Floats, rng: np.random.Generator) -> Floats:
    """Return another random value of a parameter for each of some values."""
    levels = parameters.levels[i]
    if levels is not None:
        positions: Rows = np.searchsorted(levels, values)
        other: Floats = levels[(positions + rng.integers(1, len(levels), len(values))) % len(levels)]
        return other
    result = values.copy()
    unmoved = np.arange(len(values))
    for factor in WIDER:
        step = factor * rng.choice(STEPS, len(unmoved)) * rng.standard_normal(len(unmoved))
        result[unmoved] = parameters.valid(i, _reflected(values[unmoved] + step))
        unmoved = unmoved[result[unmoved] == values[unmoved]]  # the step was smaller than the distance of two levels
        if not len(unmoved):
            break
    return result


def _reflected(values: Floats) -> Floats:
    """Return values reflected into [0, 1]; clipping would cancel many steps."""
    folded = values % 2.0
    inside: Floats = np.where((values >= 0.0) & (values <= 1.0), values, np.where(folded > 1.0, 2.0 - folded, folded))
    return inside
