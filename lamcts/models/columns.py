"""Several columns over the same rows: one kernel and one Cholesky factor, and a further right-hand side a column.

The hyper-parameters are those of all columns together, so fifty constraints cost one fit. Mean and signal are each
column's own. Letters: n rows in the model, m rows asked about, d coordinates, q columns, k draws, w waves.
"""

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamcts.models.fit import Loss, Prior, search
from lamcts.models.gp import SIGNAL_SHAPE, Hyper, Posterior, profiled_signal
from lamcts.models.paths import IN_VAIN, WAVES, Paths, Singles
from lamcts.types import Floats

TELLING = 8  # rows that say in which order columns draw their random numbers: it is not the order they are told in


class Columns:
    """The processes given rows `x` [n, d] and columns `z` [n, q], q > 0; nan where a row's column is not known.

    rows: the process of one column, whose factor serves all.
    """

    def __init__(self, x: Floats, z: Floats, hyper: Hyper) -> None:
        self._take(Posterior(x, np.zeros(len(x)), hyper), z)

    def _take(self, rows: Posterior, z: Floats) -> None:
        self.rows, self.z = rows, self._completed(rows, z)
        n = len(z)
        white = rows.whiten(np.column_stack([self.z, np.ones(n)]))
        white, ones = white[:, :-1], white[:, -1]
        self.mean: Floats = ones @ white / (ones @ ones)  # [q]
        white = white - np.outer(ones, self.mean)
        squares = np.einsum("nq,nq->q", white, white)
        self.signal = np.array([profiled_signal(float(square), n) for square in squares])  # [q]
        self.weights = rows.unwhiten(white)  # [n, q], K^-1 (z - mean)

    @staticmethod
    def _completed(rows: Posterior, z: Floats) -> Floats:
        """Return `z` with what is not known as the known rows of its column lead one to expect.

        With `Q = K^-1` that is `-Q_uu^-1 Q_uk z_k` for unknown rows u and known rows k, about a mean of 0.
        """
        unknown = np.isnan(z)
        if not unknown.any():
            return z
        z = np.where(unknown, 0.0, z)
        some = np.flatnonzero(unknown.any(1))
        unit = np.zeros((len(z), len(some)))
        unit[some, np.arange(len(some))] = 1.0
        white = rows.whiten(unit)  # [n, u]
        inverse = white.T @ white  # Q of the rows that lack a column
        pull = white.T @ rows.whiten(z)  # [u, q], Q z there
        for j in np.flatnonzero(unknown.any(0)):
            lacking = np.flatnonzero(unknown[some, j])
            z[some[lacking], j] = -np.linalg.solve(inverse[np.ix_(lacking, lacking)], pull[lacking, j])
        return z

    @property
    def hyper(self) -> Hyper:
        return self.rows.hyper

    def expect(self, x: Floats) -> Floats:
        """Return the posterior means at `x` [m, d], [m, q]."""
        result: Floats = self.mean + self.rows.cross(x) @ self.weights
        return result

    def moments(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the posterior means and variances, without noise, at `x` [m, d], both [m, q]."""
        cross = self.rows.cross(x)
        white = self.rows.whiten(cross.T)  # [n, m]
        share = np.maximum(1.0 - np.einsum("ij,ij->j", white, white), 0.0)
        return self.mean + cross @ self.weights, np.outer(share, self.signal)

    def fitted(self) -> Floats:
        """Return the posterior means at the model's own rows, [n, q]: their columns less the noise seen in them."""
        result: Floats = self.z - self.hyper.noise * self.weights
        return result

    def believing(self, x: Floats) -> "Columns":
        """Return the processes as if the columns at `x` [k, d] had come out at their expectation."""
        new = Columns.__new__(Columns)
        new.z, new.mean, new.signal = np.vstack([self.z, self.expect(x)]), self.mean, self.signal
        new.rows = self.rows.extended(x, np.zeros(len(new.z)))
        new.weights = new.rows.unwhiten(new.rows.whiten(new.z - new.mean))
        return new

    def slopes(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and variances without noise at `x` [k, d], [k, q] each, and their slopes, [k, q, d] each."""
        rows, lengths = self.rows, self.rows.hyper.lengths
        scaled, cross = (x - rows.middle) / lengths, rows.cross(x)  # [k, d], [k, n]
        white = rows.whiten(cross.T)  # [n, k]
        left = np.maximum(1.0 - np.einsum("nk,nk->k", white, white), 0.0)
        root = np.sqrt(5.0) * np.sqrt(np.square(scaled[:, None] - rows.scaled).sum(2))
        fall = 5 / 3 * (1 + root) * np.exp(-root)  # [k, n], of a correlation by a scaled step and unit of distance
        pull = fall[:, None] * np.concatenate(
            [np.broadcast_to(self.weights.T, (len(x), *self.weights.T.shape)), rows.unwhiten(white).T[:, None]], axis=1
        )  # [k, q + 1, n]
        way = (pull @ rows.scaled - pull.sum(2)[:, :, None] * scaled[:, None]) / lengths
        variance, widening = left[:, None] * self.signal, -2 * way[:, -1:] * self.signal[:, None]
        return self.mean + cross @ self.weights, variance, way[:, :-1], widening

    def extended(self, x: Floats, z: Floats) -> "Columns":
        """Return the processes with further rows `x` [k, d]; `z` [n + k, q] are the columns of all rows."""
        new = Columns.__new__(Columns)
        new._take(self.rows.extended(x, np.zeros(len(z))), z)
        return new


class ColumnPaths(Paths):
    """`k` draws of each of q columns: draw i of column j is the path `i q + j`."""

    def __init__(self, columns: Columns, k: int, rng: np.random.Generator, waves: int = WAVES) -> None:
        posterior, z = columns.rows, columns.z
        (n, d), q = posterior.x.shape, z.shape[1]
        self.shape = k, q
        self._posterior = posterior
        tails = np.sqrt(rng.chisquare(5.0, waves) / 5.0)  # [w]; as in `Paths`
        self._frequencies = (rng.standard_normal((d, waves)) / tails).astype(np.float32)
        self._phases = rng.uniform(0.0, 2.0 * math.pi, waves).astype(np.float32)
        drawn = np.empty((q, waves + n, k), np.float32)
        drawn[np.lexsort(z[:TELLING][::-1])] = rng.standard_normal(drawn.shape, np.float32)  # by content, not order
        scales = np.sqrt(2.0 * columns.signal / waves), np.sqrt(columns.signal * posterior.hyper.noise)
        drawn[:, :waves] *= scales[0].astype(np.float32)[:, None, None]
        drawn[:, waves:] *= scales[1].astype(np.float32)[:, None, None]
        drawn = drawn.transpose(1, 2, 0)  # [w + n, k, q]
        self._heights = np.ascontiguousarray(drawn[:waves]).reshape(waves, k * q)
        self._mean = np.tile(columns.mean, k).astype(np.float32)
        self._rows = posterior.scaled.astype(np.float32)
        prior = (self._waves(self._rows) @ self._heights).reshape(n, k, q)
        gap = ((z - columns.mean)[:, None] - prior - drawn[waves:]).reshape(n, k * q)
        self._weights = posterior.unwhiten(posterior.whiten(gap)).astype(np.float32)

    def many(self, x: Floats) -> NDArray[np.float32]:
        """Return the draws at `x` [m, d], [m, k, q]."""
        return self(x).reshape(len(x), *self.shape)

    @IN_VAIN
    def slopes(self, x: Floats) -> tuple[Singles, Singles]:
        """Return draw i of all columns and their gradients at the point `x[i]` of `x` [k, d], [k, q] and [k, q, d].

        As `slope`, but what depends on the point alone is made once for all columns.
        """
        scaled, five = self._scale(x), np.float32(5.0)
        phases = scaled @ self._frequencies + self._phases  # [k, w]
        far = five * np.square(scaled[:, None] - self._rows).sum(2)  # [k, n]
        root = np.sqrt(far)
        decay = np.exp(-root)
        heights, weights = self._by_draw
        values = np.matmul(heights, np.cos(phases)[:, :, None])[:, :, 0]  # [k, q]
        values += np.matmul(weights, ((1 + root + far / 3) * decay)[:, :, None])[:, :, 0]
        pull = weights * (np.float32(5 / 3) * (1 + root) * decay)[:, None]  # [k, q, n]
        gradient = pull @ self._rows - pull.sum(2)[:, :, None] * scaled[:, None]
        gradient -= (heights * np.sin(phases)[:, None]) @ self._frequencies.T
        return values + self._mean.reshape(self.shape), gradient / self._posterior.hyper.lengths.astype(np.float32)

    @cached_property
    def _by_draw(self) -> tuple[Singles, Singles]:
        """The heights [k, q, w] and the weights [k, q, n]."""
        both = (np.ascontiguousarray(own.T).reshape(*self.shape, -1) for own in (self._heights, self._weights))
        heights, weights = both
        return heights, weights


def fit_columns(x: Floats, z: Floats, start: Hyper, prior: Prior, iterations: int) -> tuple[Hyper, float]:
    """Return the best hyper-parameters that columns `z` [n, q] over rows `x` share, and their loss: see `fit.fit`.

    Rows that lack a column are left out, unless fewer than d have all: then what lacks is taken as its mean.
    """
    whole = ~np.isnan(z).any(1)
    if np.count_nonzero(whole) >= x.shape[1]:
        x, z = x[whole], z[whole]
    return search(ColumnsLoss(x, np.where(np.isnan(z), 0.0, z), prior), start, prior, iterations)


class ColumnsLoss(Loss):
    """The negative log posterior of the hyper-parameters that columns `z` [n, q] share: the sum of theirs.

    With q right-hand sides and one inverse `C^-1`, `W = q C^-1 - sum_j a_j a_j^T / signal_j` (see `Loss`).
    """

    def __init__(self, x: Floats, z: Floats, prior: Prior) -> None:
        super().__init__(x, z[:, 0], prior)
        self._columns = z
        self._sides = np.asfortranarray(np.column_stack([z, np.ones(len(z))]))

    def _evidence(self, root: Floats) -> tuple[float, Floats]:
        from scipy.linalg.blas import dsyrk
        from scipy.linalg.lapack import dpotri, dpotrs

        z = self._columns
        n, q = z.shape
        solved, _ = dpotrs(root, self._sides, lower=1)  # [n, q + 1]: C^-1 z, C^-1 1
        mean = solved[:, :-1].sum(0) / solved[:, -1].sum()
        weights = solved[:, :-1] - np.outer(solved[:, -1], mean)
        squares = np.einsum("nq,nq->q", weights, z - mean)
        signal = np.array([profiled_signal(float(square), n) for square in squares])
        value = (n / 2 + SIGNAL_SHAPE + 1) * float(np.log(signal).sum()) + q * float(np.log(root.flat[:: n + 1]).sum())
        inverse, _ = dpotri(root, lower=1, overwrite_c=1)
        w = dsyrk(-1.0, weights / np.sqrt(signal), beta=float(q), c=inverse, lower=1, overwrite_c=1)
        return value, w
