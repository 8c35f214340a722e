"""Splitters: from the rows of a node to a boundary between a good and a bad side.

Letters: n rows, d dimensions.
"""

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np

from lamcts.rng import imported
from lamcts.spaces.regions.region import Split
from lamcts.tree.boundary import Frame, Halfspace, Kernel, KernelBoundary, gram
from lamcts.tree.labels import kmeans, median, raw_scales
from lamcts.types import Floats, Mask, Rows, is_number, whole_number

Units = Literal["free", "raw"]
MIN_ROWS = 4  # two rows on each side
MIN_SIDE_ROWS = 2  # a single row has no spread
MAX_STEPS = 100_000  # of the solver: 500 rows need some thousands; badly scaled rows may not converge at all


class Splitter(Protocol):
    """Protocol of splitters: frozen settings that fit a boundary between good and bad rows.

    A splitter is a dataclass of plain values; its `repr` identifies it.
    """

    @property
    def max_rows(self) -> int:
        """Largest number of rows that a fit uses; of more, it takes a stratified sample."""

    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator) -> Split | None:
        """Return a boundary between good and bad rows. Degenerate data never raises.

        Parameters
        ----------
        x : ndarray of shape (n, d)
            Rows in the unit cube.
        utility : ndarray of shape (n,)
            Utility of the rows, higher is better.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        Split or None
            None if no boundary separates good rows from bad: the node stays a leaf.
        """


@dataclass(frozen=True)
class KMeansSvm:
    """Label the rows by k-means of places and values, and fit a support vector machine to the labels (thesis 5.3).

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly"}, default "rbf"
        Kernel of the machine on standardised rows, of width 1/d. The paper uses "linear" on the largest MuJoCo tasks.
    labels : {"kmeans", "median"}, default "kmeans"
        Which rows are good: the cluster of higher utility, or the better half.
    y_weight : float, default 4.0
        Weight of the utility in "kmeans", relative to all coordinates together: at 1 / sqrt(d) it is one of d + 1 equal
        coordinates. Source: benchmarks/optimizer/tree.py.
    degree : int, default 2
        Degree of "poly".
    min_share : float, default 0.1
        Least share of the rows on either side: a larger one leaves more nodes unsplit. The paper has none.
    units : {"free", "raw"}, default "free"
        Input of "kmeans". "free" is standardised x and utility, which depend on no unit. "raw" is `[x, f(x)]` in the
        units of the space and of the objective, as in the paper; `y_weight` is not used.
    max_rows : int, default 500
        Largest number of rows in a fit. The paper uses all rows of a node.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.tree import KMeansSvm
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((60, 2))
    >>> split = KMeansSvm(kernel="linear").fit(x, -x[:, 0], rng)
    >>> split.good(np.array([[0.1, 0.5], [0.9, 0.5]])).tolist()
    [True, False]
    """

    kernel: Kernel = "rbf"
    labels: Literal["kmeans", "median"] = "kmeans"
    y_weight: float = 4.0
    degree: int = 2
    min_share: float = 0.1
    units: Units = "free"
    max_rows: int = 500

    def __post_init__(self) -> None:
        if self.kernel not in ("rbf", "linear", "poly"):
            raise ValueError(f"KMeansSvm: expected kernel rbf, linear or poly, got {self.kernel!r}")
        if self.labels not in ("kmeans", "median"):
            raise ValueError(f"KMeansSvm: expected labels kmeans or median, got {self.labels!r}")
        if not (is_number(self.y_weight) and 0 <= self.y_weight < np.inf):
            raise ValueError(f"KMeansSvm: expected a finite y_weight of at least 0, got {self.y_weight!r}")
        check_common("KMeansSvm", self.min_share, self.max_rows, self.units)

    def fit(self, x: Floats, utility: Floats, rng: np.random.Generator, widths: float | Floats = 1.0) -> Split | None:
        """Return a boundary between good and bad rows, or None; `widths` [d] of the space are for units="raw"."""
        sample = prepared(x, utility, self.max_rows, rng)
        if sample is None:
            return None
        x, s, frame = sample
        z = frame(x)
        good = self._labelled(z, s, rng, widths * x.std(0), utility)
        if not balanced(good, self.min_share):
            return None
        split = self._boundary(frame, z, good, gram(z, z, self.kernel, self.degree))
        return split if balanced(split.good(x), self.min_share) else None

    def _labelled(self, z: Floats, s: Floats, rng: np.random.Generator, spread: Floats, utility: Floats) -> Mask:
        """Return which rows are good, [n], before a boundary is fitted."""
        if self.labels == "median":
            return median(s)
        if self.units == "raw":
            scale, weight = raw_scales(spread, utility)
            return kmeans(z * scale, s, rng, weight)
        return kmeans(z, s, rng, self.y_weight * z.shape[1] ** 0.5)

    def _boundary(self, frame: Frame, z: Floats, good: Mask, kernel: Floats) -> Split:
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():  # a solution that has not converged still separates the rows
            warnings.simplefilter("ignore", ConvergenceWarning)
            # A fixed state: with None the fit draws from the global generator, though this solver never uses it.
            machine = _svc()(kernel="precomputed", max_iter=MAX_STEPS, random_state=0).fit(kernel, good)
        support = machine.support_
        weight = machine.dual_coef_[0].copy()
        b = float(machine.intercept_[0])
        if self.kernel == "linear":
            return Halfspace.within(frame, weight @ z[support] / z.shape[1], b)
        return KernelBoundary(frame, self.kernel, self.degree, np.ascontiguousarray(z[support]), weight, b)


@cache
def _svc() -> Any:
    """Return scikit-learn's support vector classifier."""
    return imported("sklearn.svm").SVC


def prepared(
    x: Floats, utility: Floats, max_rows: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Frame] | None:
    """Return a sample of the rows, standardised utility [m] and the frame; None if all rows are equal."""
    rows = thin(utility, max_rows, rng)
    x = x[rows]
    s = standard(utility[rows])
    if len(x) < MIN_ROWS or not s.any():
        return None
    frame = Frame.of(x)
    return (x, s, frame) if frame.rate.any() else None


def thin(utility: Floats, size: int, rng: np.random.Generator) -> Rows:
    """Return at most `size` row numbers, ascending, one from each of `size` equal slices by utility."""
    n = len(utility)
    if n <= size:
        return np.arange(n)
    edges = np.arange(size + 1) * n // size
    positions = edges[:-1] + (rng.random(size) * np.diff(edges)).astype(np.int64)
    return np.sort(np.argsort(utility, kind="stable")[positions])


def standard(utility: Floats) -> Floats:
    """Return `utility` [n] with mean 0 and variance 1, zeros if all are equal; does not overflow."""
    if not len(utility) or utility.min() == utility.max():
        return np.zeros(len(utility))
    utility = utility / np.abs(utility).max()  # squares of 1e300 overflow
    spread = float(utility.std())
    return (utility - utility.mean()) / spread if spread > 0 else np.zeros(len(utility))


def balanced(good: Mask, min_share: float) -> bool:
    """Return whether each side has two rows, and `min_share` of all rows."""
    smaller = min(np.count_nonzero(good), np.count_nonzero(~good))
    return bool(smaller >= MIN_SIDE_ROWS and smaller >= min_share * len(good))


def check_common(name: str, min_share: float, max_rows: int, units: Units) -> None:
    """Raise ValueError for settings out of range."""
    if units not in ("free", "raw"):
        raise ValueError(f"{name}: expected units free or raw, got {units!r}")
    if not (is_number(min_share) and 0 <= min_share < 0.5):
        raise ValueError(f"{name}: expected a min_share in [0, 0.5), got {min_share!r}")
    whole_number(max_rows, f"{name}: max_rows", least=MIN_ROWS)
