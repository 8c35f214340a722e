"""The contract of splitters and their splits (`lamcts.tree`)."""

import numpy as np

from lamcts.spaces.regions.region import Split
from lamcts.testing.search import expect, watched
from lamcts.tree.splits import Splitter
from lamcts.types import Floats, Mask

# Numbers of rows below: few enough for seconds, and enough for a clear case to be clear.


def check_splitter(splitter: Splitter, seed: int = 0) -> None:
    """Check that a splitter and its splits are what the tree relies on.

    Parameters
    ----------
    splitter : Splitter
        The splitter.
    seed : int, default 0
        Seed of the rows that it splits.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_splitter(lamcts.tree.KMeansSvm())
    """
    for check in (_splits_what_is_clear, _answers_by_row, _repeats_itself, _bears_degenerate_rows):
        with watched(f"{splitter!r}, {check.__name__.strip('_').replace('_', ' ')}"):
            check(splitter, seed)


def _clear(seed: int, n: int = 120) -> tuple[Floats, Floats]:
    """Return rows [n, 3] whose utility [n] grows with the first coordinate."""
    x = np.random.default_rng([seed, 1]).random((n, 3))
    return x, x[:, 0].copy()


def _fit(splitter: Splitter, x: Floats, utility: Floats, seed: int) -> Split | None:
    """Fit, checking what always holds of the answer."""
    given = x.copy(), utility.copy()
    split = splitter.fit(x, utility, np.random.default_rng([seed, 2]))
    same = np.array_equal(x, given[0], equal_nan=True) and np.array_equal(utility, given[1], equal_nan=True)
    expect(same, "fit: its arguments left as they were", "changed")
    if split is not None:
        good = _sides(split, x)
        fewest = int(min(good.sum(), (~good).sum()))
        expect(fewest >= 1, "a split with rows of the fit on both sides, or None", f"{good.sum()} of {len(x)} good")
    return split


def _sides(split: Split, x: Floats) -> Mask:
    good = split.good(x)
    expect(isinstance(good, np.ndarray) and good.dtype == bool, "good: an array of booleans", f"{good!r:.60}")
    expect(good.shape == (len(x),), f"good: shape [{len(x)}]", good.shape)
    return good


def _clear_split(splitter: Splitter, seed: int) -> Split:
    split = _fit(splitter, *_clear(seed), seed)
    if split is None:
        expect(False, "a split of 120 rows whose utility is their first coordinate", None)
        raise AssertionError  # not reached
    return split


def _splits_what_is_clear(splitter: Splitter, seed: int) -> None:
    """Rows it has not seen are ranked: the good side has the higher utility."""
    split = _clear_split(splitter, seed)
    probes = np.random.default_rng([seed, 3]).random((500, 3))
    good = _sides(split, probes)
    expect(good.any() and not good.all(), "new rows on both sides", f"{good.sum()} of 500 good")
    high, low = probes[good, 0].mean(), probes[~good, 0].mean()
    expect(high > low + 0.1, "a good side of clearly higher utility on new rows", f"means {high:.3f} and {low:.3f}")


def _answers_by_row(splitter: Splitter, seed: int) -> None:
    """The side of a row does not depend on the other rows of the call."""
    split = _clear_split(splitter, seed)
    rng = np.random.default_rng([seed, 4])
    probes = np.vstack([rng.random((300, 3)), _clear(seed)[0]])
    good = _sides(split, probes)
    alone = np.array([_sides(split, row[None])[0] for row in probes])
    expect(np.array_equal(alone, good), "good: for a row alone what it says among others", "another side")
    order = rng.permutation(len(probes))
    expect(np.array_equal(_sides(split, probes[order]), good[order]), "good: no dependence on the order of rows")
    expect(len(_sides(split, probes[:0])) == 0, "good: shape [0] for no rows")
    flat = split.halfspace()
    if flat is not None:
        w, b = flat
        score = probes @ np.asarray(w) + b
        sure = np.abs(score) > 1e-6 * (np.abs(w).sum() + abs(b))
        expect(np.array_equal(score[sure] >= 0, good[sure]), "halfspace: (w, b) with x @ w + b >= 0 on the good side")


def _repeats_itself(splitter: Splitter, seed: int) -> None:
    probes = np.random.default_rng([seed, 5]).random((500, 3))
    first, again = (_sides(_clear_split(splitter, seed), probes) for _ in range(2))
    expect(np.array_equal(first, again), "the same split from the same rows and generator", "another")


def _bears_degenerate_rows(splitter: Splitter, seed: int) -> None:
    """Nothing to tell apart is None; odd rows neither raise nor warn nor split off nothing."""
    rng = np.random.default_rng([seed, 6])
    x, utility = _clear(seed, 40)
    hopeless = {
        "one row": (x[:1], utility[:1]),
        "equal utilities": (x, np.full(40, 0.5)),
        "equal rows": (np.full((40, 3), 0.25), utility),
    }
    for name, (same_x, same_merit) in hopeless.items():
        expect(_fit(splitter, same_x, same_merit, seed) is None, f"None for {name}", "a split")
    wide = rng.random((20, 500))
    odd = (
        (x[:2], utility[:2]),
        (x[:3], utility[:3]),
        (np.repeat(x[:4], 10, 0), np.repeat(utility[:4], 10)),
        (x[:, :1], utility),
        (wide, wide[:, 0].copy()),
        (x, utility * 1e300),
        (x, utility * 1e-300),
        (x, np.where(utility > 0.5, 1e300, -1e300)),
        (x, (np.arange(40) == 7).astype(float)),
        (x * 1e-12, utility),
        (np.where(rng.random((40, 3)) > 0.5, 1.0, 0.0), utility),
    )
    for odd_x, odd_merit in odd:
        _fit(splitter, odd_x, odd_merit, seed)
