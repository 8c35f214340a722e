"""A stand-in for SMAC's forest (Hutter et al. 2011), whose own (pyrfr) has no wheel and needs a compiler and swig.

Ten trees of scikit-learn on the encoded rows (a category's options are columns, where SMAC's splits see sets of them),
expected improvement from the trees' mean and variance, climbed over one-exchange neighbours from the ten best rows and
the best of many random ones; one proposal in five is random. Failures are told as the worst loss seen so far.
"""

import numpy as np

from benchmarks.harness.search import Search
from benchmarks.peers.native.evaluated_codes import EvaluatedCodes
from lamcts.spaces.exchanges import exchanges
from lamcts.types import Floats

TREES = 10  # SMAC's; all columns at every split and leaves of one row, as there
RANDOM_SHARE = 0.2  # of the proposals; SMAC's
STARTS, DRAWS, ROUNDS = 10, 1000, 10  # of the climbs: as many starts as SMAC; draws and rounds untuned
FIRST, FIRST_SHARE = 20, 0.25  # initial points; SMAC's 10 a parameter, at most a quarter of the budget, find less early
PERCENTILE, TINY = 5, 1e-10  # SMAC's scale of losses
FLOOR = 1e-10  # of the variance: trees that agree say nothing about how sure they are


def search(search: Search) -> None:
    codes = EvaluatedCodes(search)
    z = codes.draw(min(FIRST, max(2, int(FIRST_SHARE * search.budget))))
    losses = np.array(codes.losses(z))
    while search.left:
        new = _proposals(codes, z, losses, min(search.batch, search.left))
        if not len(new):
            return
        z, losses = np.vstack([z, new]), np.append(losses, codes.losses(new))


def _proposals(codes: EvaluatedCodes, z: Floats, losses: Floats, n: int) -> Floats:
    """Return the `n` best by expected improvement, random ones among them."""
    guided = int((codes.rng.random(n) >= RANDOM_SHARE).sum())
    found = _best(codes, z, losses, guided) if guided and np.isfinite(losses).any() else z[:0]
    return codes.unseen(np.vstack([found, codes.draw(n)]))[:n]


def _best(codes: EvaluatedCodes, z: Floats, losses: Floats, n: int) -> Floats:
    y = _scaled(np.where(np.isfinite(losses), losses, losses[np.isfinite(losses)].max()))
    trees = _fitted(codes.parameters.rows(z), y, codes.rng)
    pool = np.vstack([codes.draw(DRAWS), *(_near(codes, row) for row in z[np.argsort(y)[:STARTS]])])
    top = None
    for _ in range(ROUNDS):
        pool = codes.unseen(pool)
        if not len(pool):
            break
        gain = _improvement(trees, codes.parameters.rows(pool), y.min())
        pool = pool[np.argsort(-gain, kind="stable")[: max(n, STARTS)]]
        if top is not None and (pool[0] == top).all():
            break
        top, pool = pool[0], np.vstack([pool, _near(codes, pool[0])])
    return pool[:n]


def _near(codes: EvaluatedCodes, row: Floats) -> Floats:
    return exchanges(codes.parameters, row, codes.rng)


def _scaled(losses: Floats) -> Floats:
    """Return SMAC's logarithm of losses: from a point below the best, as far as their fifth percentile is above it."""
    low = 2 * losses.min() - np.percentile(losses, PERCENTILE) - TINY
    return np.log((losses - low) / (losses.max() - low))


def _fitted(x: Floats, y: Floats, rng: np.random.Generator) -> list:
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(TREES, random_state=int(rng.integers(2**31)))
    return [tree.tree_ for tree in forest.fit(x, y).estimators_]


def _improvement(trees: list, x: Floats, best: float) -> Floats:
    from scipy.special import ndtr

    each = np.array([tree.predict(x.astype(np.float32))[:, 0] for tree in trees])  # [trees, n]
    mean, deviation = each.mean(0), np.sqrt(np.maximum(each.var(0), FLOOR))
    u = (best - mean) / deviation
    return deviation * (u * ndtr(u) + np.exp(-u * u / 2) / np.sqrt(2 * np.pi))
