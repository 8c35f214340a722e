"""Moves of discrete searches: one parameter changes to another of its values.

A table's row, an order, a mixture and a subset count as one parameter. Letters: n rows, p parameters, k neighbours.
"""

import numpy as np

from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Rows

EVERY = 32  # levels of an ordered parameter to try all; with more, those 1, 2, 4, ... steps away (untuned)
MOST_OPTIONS, DRAWN_OPTIONS = 256, 64  # options of a category to try all; random options of larger ones (untuned)
STEPS = (0.3, 0.1, 0.03, 0.01)  # standard deviations of steps of a real number, as shares of its range (untuned)
WIDER = 2.0 ** np.arange(8)  # factors of the step of a number with too many levels, until it changes (untuned)
ENTERED = 8  # random values of parameters that a move activates (untuned)


def exchanges(parameters: Parameters, z: Floats, rng: np.random.Generator, known: Floats | None = None) -> Floats:
    """Return the neighbours [k, p] of codes `z` [p], with one active parameter changed.

    Of a real number, a few Gaussian steps. Of a category with very many options, those of the `known` codes [m, p] and
    some random ones: options without evaluations are equal to a model. Of a `JointSpace`, its neighbours. Parameters
    that a move activates take random values, several times.
    """
    active = parameters.active(z[None])[0]
    known = z[None] if known is None else known
    found = [_others(parameters, int(i), z, known, rng) for i in np.flatnonzero(active & parameters.move_units)]
    near = np.repeat(z[None], sum(len(values) for _, values in found), axis=0)
    first = 0
    for part, values in found:
        near[first : first + len(values), part] = values
        first += len(values)
    if parameters.conditional and len(near):
        new = (parameters.active(near) & ~active).any(1)
        near = np.vstack([near, np.repeat(near[new], ENTERED - 1, axis=0)])
    return parameters.entered(near, np.broadcast_to(active, near.shape), rng)


def mutations(parameters: Parameters, z: Floats, rng: np.random.Generator, moves: float = 1.0) -> Floats:
    """Return codes `z` [n, p] with at least one active parameter changed in each row."""
    n, p = z.shape
    held = parameters.active(z)
    active = held & parameters.move_units
    chance = (moves - 1.0) / np.maximum(active.sum(1, keepdims=True) - 1, 1)  # [n, 1]
    moved = rng.random((n, p)) < chance
    moved[np.arange(n), np.where(active, rng.random((n, p)), -1.0).argmax(1)] = True
    moved &= active
    result = z.copy()
    joint = {own.part.start: own for own in parameters.joint}
    for i in np.flatnonzero(moved.any(0)):
        rows = np.flatnonzero(moved[:, i])
        if (own := joint.get(int(i))) is not None:
            result[rows, own.part] = own.space.random_neighbours(z[rows, own.part], rng)
        else:
            result[rows, i] = _moved(parameters, int(i), z[rows, i], rng)
    return parameters.entered(result, held, rng)


def is_long(parameters: Parameters, i: int) -> bool:
    """Return whether parameter `i` is a category with too many options to try all."""
    levels = parameters.levels[i]
    return levels is not None and bool(parameters.categorical[i]) and len(levels) > MOST_OPTIONS


def _others(parameters: Parameters, i: int, z: Floats, known: Floats, rng: np.random.Generator) -> tuple[slice, Floats]:
    """Return the columns of move unit `i`, and other values for them, [k, columns]."""
    for part, space in parameters.joint:
        if part.start == i:
            return part, space.neighbours(z[part], rng)
    levels, value = parameters.levels[i], float(z[i])
    if levels is None:
        reached = parameters.valid(i, _reflected(value + rng.standard_normal(len(STEPS)) * STEPS))
        others = np.unique(reached[reached != value])
    elif is_long(parameters, i):
        some = np.union1d(levels[rng.integers(0, len(levels), DRAWN_OPTIONS)], known[:, i])
        others = some[some != value]
    elif parameters.categorical[i] or len(levels) <= EVERY:
        others = levels[levels != value]
    else:
        here = int(np.abs(levels - value).argmin())
        reach = 2 ** np.arange(int(np.log2(len(levels))) + 1)
        places = np.concatenate([here - reach, here + reach])
        others = levels[places[(places >= 0) & (places < len(levels))]]
    return slice(i, i + 1), others[:, None]


def _moved(parameters: Parameters, i: int, values: Floats, rng: np.random.Generator) -> Floats:
    """Return another random value of a parameter for each of some values."""
    levels = parameters.levels[i]
    if levels is not None:
        places: Rows = np.searchsorted(levels, values)
        other: Floats = levels[(places + rng.integers(1, len(levels), len(values))) % len(levels)]
        return other
    result, same = values.copy(), np.arange(len(values))
    for wider in WIDER:
        step = wider * rng.choice(STEPS, len(same)) * rng.standard_normal(len(same))
        result[same] = parameters.valid(i, _reflected(values[same] + step))
        same = same[result[same] == values[same]]  # a step within the distance of two levels
        if not len(same):
            break
    return result


def _reflected(values: Floats) -> Floats:
    """Return values reflected into [0, 1]; clipping would cancel many steps."""
    folded = values % 2.0
    inside: Floats = np.where((values >= 0.0) & (values <= 1.0), values, np.where(folded > 1.0, 2.0 - folded, folded))
    return inside
