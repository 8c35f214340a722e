"""Moves of a search over discrete parameters: one parameter at a time to another of its values.

Letters: n rows, p parameters, k neighbours.
"""

import numpy as np

from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Rows

EVERY = 32  # levels of an ordered parameter up to which all are tried; of more, those 1, 2, 4, ... steps away (untuned)
STEPS = (0.3, 0.1, 0.03, 0.01)  # deviations of the steps of a real number, as shares of its range (untuned)
NEAREST = 32  # rows of a table that count as neighbours where few differ in one column (untuned)


def exchanges(parameters: Parameters, z: Floats, rng: np.random.Generator) -> Floats:
    """Return the codes [k, p] of all rows that differ from `z` [p] in one active parameter; of a real number, a few.

    Of a table: its rows that differ in one column, or the nearest ones where those are few.
    """
    if parameters.table is not None:
        return _in_table(parameters.table, z)
    active = parameters.active(z[None])[0]
    found = [np.empty((0, len(z)))]
    for i in np.flatnonzero(active & parameters.movable):
        values = _others(parameters.levels[i], float(z[i]), bool(parameters.categorical[i]), rng)
        near = np.repeat(z[None], len(values), axis=0)
        near[:, i] = values
        found.append(near)
    return np.vstack(found)


def mutations(parameters: Parameters, z: Floats, rng: np.random.Generator, moves: float = 1.0) -> Floats:
    """Return the codes [n, p] of the rows `z` [n, p], in each at least one active parameter moved, `moves` on average.

    A category, and a number with few levels, takes any other of its values; a real number makes a Gaussian step.
    """
    n, p = z.shape
    active = parameters.active(z) & parameters.movable
    chance = moves / np.maximum(active.sum(1, keepdims=True), 1)  # [n, 1]
    moved = (rng.random((n, p)) < chance) & active
    one = np.where(active, rng.random((n, p)), -1.0).argmax(1)
    moved[np.arange(n), one] |= ~moved.any(1)
    result = z.copy()
    for i in range(p):
        rows = np.flatnonzero(moved[:, i])
        if len(rows):
            result[rows, i] = _moved(parameters.levels[i], z[rows, i], rng)
    return result


def _others(levels: Floats | None, value: float, categorical: bool, rng: np.random.Generator) -> Floats:
    """Return other values of a parameter: all of a category or of few levels, else some near and far."""
    if levels is None:
        reached: Floats = np.clip(value + rng.standard_normal(len(STEPS)) * STEPS, 0.0, 1.0)
        return reached
    if categorical or len(levels) <= EVERY:
        others: Floats = levels[levels != value]
        return others
    here = int(np.abs(levels - value).argmin())
    reach = 2 ** np.arange(int(np.log2(len(levels))) + 1)
    places = np.concatenate([here - reach, here + reach])
    near: Floats = levels[places[(places >= 0) & (places < len(levels))]]
    return near


def _moved(levels: Floats | None, values: Floats, rng: np.random.Generator) -> Floats:
    """Return for each of some values of a parameter another one, drawn at random."""
    if levels is None:
        reached: Floats = np.clip(values + rng.standard_normal(len(values)) * rng.choice(STEPS, len(values)), 0.0, 1.0)
        return reached
    places: Rows = np.searchsorted(levels, values)
    other: Floats = levels[(places + rng.integers(1, max(len(levels), 2), len(values))) % len(levels)]
    return other


def _in_table(table: Floats, z: Floats) -> Floats:
    differs = (table != z).sum(1)
    near: Floats = table[differs == 1]
    if len(near) >= NEAREST:
        return near
    far = np.square(table - z).sum(1)
    others = np.flatnonzero(differs > 1)
    nearest = others[np.argsort(far[others], kind="stable")[: NEAREST - len(near)]]
    return np.vstack([near, table[nearest]])
