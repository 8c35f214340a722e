"""The Gaussian process of discrete and mixed spaces: an exponential Hamming kernel times Matern 5/2.

`k(z, t) = exp(-sum_c w_c [z_c != t_c]) matern(r)`, one weight a category c, and r the distance of the numbers in length
scales (the transformed overlap kernel of Casmopolitan, arXiv 2102.07188 eq. 3, with the product over categories).

Letters: n rows in the model, m rows asked about, p parameters, c categories, w options of all categories, v
columns of orders, q numbers.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from lamcts.models.gp import factor, grown_noise, profiled_signal
from lamcts.models.kernel import fall, matern
from lamcts.models.known_noise import KnownNoise, settle
from lamcts.models.permutation_features import features, widths
from lamcts.spaces.base import distance
from lamcts.spaces.parameters import Mask, Parameters
from lamcts.types import Floats, Rows

INACTIVE_VALUE = 0.5  # of a number's range: the value of an inactive one
MAX_DENSE_OPTIONS = 512  # options of all categories, up to which products are dense (untuned: either is quick there)


class Inputs(NamedTuple):
    """Rows as the kernel takes them: the option of each category in `options` [n, c], and `numbers` [n, q].

    An option is its number among the options of all categories. Orders are several categories each (see
    `permutation_features.py`); `orders` [n, v] holds the features that two orders may share.
    """

    options: Rows
    orders: Floats
    numbers: Floats

    def __len__(self) -> int:
        return len(self.options)

    def at(self, rows: Rows) -> "Inputs":
        return Inputs(self.options[rows], self.orders[rows], self.numbers[rows])

    def joined(self, other: "Inputs") -> "Inputs":
        options, orders = np.vstack([self.options, other.options]), np.vstack([self.orders, other.orders])
        return Inputs(options, orders, np.vstack([self.numbers, other.numbers]))


class Coding:
    """Makes inputs of codes. A category that is not active has an option of its own for that.

    ordered [q]: the parameters behind the columns of `numbers`. owner [w + v]: the category of each option, and of each
    column of `orders`.

    Where the space has inactive parameters, a number that is not active lies in the middle of its range, and whether it
    is active is one more category.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        moving = parameters.non_constant
        self._categories = np.flatnonzero(parameters.categorical & moving)
        self.ordered: Rows = np.flatnonzero(~parameters.categorical & moving & ~parameters.in_permutation)
        self._orders = [part for part in parameters.permutations if parameters.move_units[part.start]]
        self._switched = self.ordered if parameters.may_be_inactive else self.ordered[:0]
        levels = [own for own in (parameters.levels[i] for i in self._categories) if own is not None]
        counts = [len(own) + 1 for own in levels] + [2] * len(self._switched)
        self._offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        counts += [width for part in self._orders for width in widths(part.stop - part.start)]
        self.owner: Rows = np.repeat(np.arange(len(counts)), counts)
        self.categories = len(counts)
        # most codes of categories are the numbers of their options; the others have to be looked up
        self._looked_up = {k: own for k, own in enumerate(levels) if not np.array_equal(own, np.arange(len(own)))}

    @property
    def numbers(self) -> int:
        return len(self.ordered)

    def __call__(self, z: Floats, active: Mask | None = None) -> Inputs:
        """Return the inputs of codes `z` [n, p]; active [n, p]: None asks the space."""
        active = self._parameters.active(z) if active is None else active
        options = np.hstack([np.where(active[:, self._categories], self._options(z) + 1, 0), active[:, self._switched]])
        groups = [features(z[:, part], active[:, part.start]) for part in self._orders]
        orders = np.hstack(groups) if groups else np.empty((len(z), 0))
        return Inputs(self._offsets[:-1] + options, orders, np.where(active, z, INACTIVE_VALUE)[:, self.ordered])

    def _options(self, z: Floats) -> Rows:
        """Return the number of each category's option in codes `z` [n, p], [n, c]."""
        options = z[:, self._categories].astype(np.int64)
        for k, levels in self._looked_up.items():
            options[:, k] = np.searchsorted(levels, z[:, self._categories[k]])
        return options


@dataclass(frozen=True, eq=False)
class HammingHyper:
    """Hyper-parameters: `weights` [c], `lengths` [q] as shares of a range, `noise` as a share of the signal."""

    weights: Floats
    lengths: Floats
    noise: float


class Overlap:
    """The categories' part of the kernel between the model's rows and others; `size` is w + v."""

    def __init__(self, inputs: Inputs, size: int) -> None:
        self._inputs, self._kinds = inputs, size - inputs.orders.shape[1]
        self._options = OptionColumns(inputs.options, self._kinds)

    def __call__(self, others: Inputs, columns: Floats) -> Floats:
        """Return `exp(-sum_c w_c [a_c != b_c])` [n, m]; `columns` [w + v] holds the weight of each option or column.

        All rows have the norm 1 in each category, so that the sum of weights is the same for all.
        """
        weights, of_orders = columns[: self._kinds], columns[self._kinds :]
        equal, orders = self._options.shared(others.options, weights), self._inputs.orders
        first = self._inputs.options[:1].ravel()
        total = float(np.bincount(first, weights[first], len(weights)).sum())
        if len(of_orders):
            equal += (orders * of_orders) @ others.orders.T
            total += float((of_orders * orders[:1] * orders[:1]).sum())
        equal -= total
        np.minimum(equal, 0.0, out=equal)
        result: Floats = np.exp(equal, out=equal)
        return result

    def sums(self, pairs: Floats, owner: Rows, categories: int) -> Floats:
        """Return for each category the sum of symmetric `pairs` [n, n] over what two rows share in it, [c]."""
        used, shared = self._options.sums(pairs)
        orders = self._inputs.orders
        if orders.shape[1]:
            shared = np.concatenate([shared, np.einsum("ij,ij->j", pairs @ orders, orders)])
            used = np.concatenate([used, np.arange(self._kinds, len(owner))])
        return np.asarray(np.bincount(owner[used], shared, categories), np.float64)


class MeanFunction(Protocol):
    """A prior mean of a process."""

    def __call__(self, inputs: Inputs) -> Floats:
        """Return the mean at some rows, [m]."""

    def slopes(self, inputs: Inputs) -> Floats:
        """Return the slopes of the mean along the numbers, [m, q]."""


class HammingPosterior:
    """The process given inputs and losses `y` [n] in standard units; mean and signal are the most likely ones.

    known: the known noise of the rows. `noise` is what each row has, known and fitted, [n], or what all have.
    prior: the mean that the process has besides its own constant; None: none.
    """

    def __init__(
        self,
        inputs: Inputs,
        y: Floats,
        hyper: HammingHyper,
        owner: Rows,
        known: KnownNoise | None = None,
        prior: MeanFunction | None = None,
    ) -> None:
        self.inputs, self.y, self.hyper, self.known, self._owner, self.prior = inputs, y, hyper, known, owner, prior
        self._columns = hyper.weights[owner] if len(owner) else np.empty(0)
        if known is None:
            self._condition(hyper.noise)
        else:
            settle(lambda signal: self._condition(known.diagonal(hyper.noise, signal)))

    def _condition(self, noise: float | Floats) -> float:
        """Take a noise as a share of the signal's variance, and return that variance, the most likely one."""
        self.noise, inputs = noise, self.inputs
        y = self.y if self.prior is None else self.y - self.prior(inputs)
        self.root = factor(self._correlate(inputs), noise)  # [n, n], lower
        ones = self.whiten(np.ones((len(y), 1)))[:, 0]
        white = self.whiten(y[:, None])[:, 0]
        self.mean = float(ones @ white / (ones @ ones))
        white = white - self.mean * ones
        self.signal = profiled_signal(float(white @ white), len(y))
        self.white = white  # [n], L^-1 (y - mean), less the prior mean
        return self.signal

    @cached_property
    def _overlap(self) -> Overlap:
        return Overlap(self.inputs, len(self._owner))

    @cached_property
    def weights(self) -> Floats:
        """K^-1 (y - mean), [n]."""
        from scipy.linalg.blas import dtrsv

        result: Floats = dtrsv(self.root, self.white, lower=1, trans=1)
        return result

    def whiten(self, b: Floats) -> Floats:
        """With `K = L L^T`, return `v` [n, k] such that `L v = b`."""
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self.root, b, lower=1)
        return result

    def expect(self, inputs: Inputs) -> Floats:
        """Return the posterior mean at some rows, [m]."""
        return self._expect(inputs, self._correlate(inputs))

    def _expect(self, inputs: Inputs, cross: Floats) -> Floats:
        """Return the posterior mean at some rows, whose kernel with the model's own is `cross` [n, m]."""
        mean = self.mean + self.weights @ cross
        return mean if self.prior is None else mean + self.prior(inputs)

    def moments(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the posterior mean and variance of the noise-free loss at some rows, both [m]."""
        cross = self._correlate(inputs)  # [n, m]
        mean = self._expect(inputs, cross)
        white = self.whiten(np.asfortranarray(cross))
        variance = self.signal * (1.0 - np.einsum("ij,ij->j", white, white))
        return mean, np.maximum(variance, 0.0)

    def joint(self, inputs: Inputs) -> tuple[Floats, Floats]:
        """Return the posterior mean [m] and covariance [m, m] of the noise-free losses at some rows."""
        cross = self._correlate(inputs)  # [n, m]
        white = self.whiten(np.asfortranarray(cross))
        covariance: Floats = self.signal * (self._correlate(inputs, inputs) - white.T @ white)
        return self._expect(inputs, cross), covariance

    def slopes(self, inputs: Inputs) -> tuple[Floats, Floats, Floats, Floats]:
        """Return mean and variance at some rows, [m], and the slopes of both along the numbers, [m, q].

        With `S = -dk/dx` over `(x - t) / l^2`, which is `overlap (5 / 3) (1 + R) exp(-R)`, and `B = K^-1 k`: along the
        mean `-sum_i a_i S (x - t_i) / l^2`, along the variance `2 signal sum_i B S (x - t_i) / l^2`.
        """
        from scipy.linalg.blas import dtrsm

        lengths = self.hyper.lengths
        own, here = self.inputs.numbers / lengths, inputs.numbers / lengths  # [n, q], [m, q]
        shared = self._overlap(inputs, self._columns)  # [n, m]
        cross = shared * matern(own, here)
        white = self.whiten(np.asfortranarray(cross))
        solved = dtrsm(1.0, self.root, white, lower=1, trans_a=1)  # [n, m]
        bend = shared * fall(np.sqrt(5.0) * distance(own, here))

        def along(weights: Floats) -> Floats:
            part: Floats = (here * weights.sum(0)[:, None] - weights.T @ own) / lengths
            return part

        variance = self.signal * (1.0 - np.einsum("ij,ij->j", white, white))
        mean, slope = self._expect(inputs, cross), 2.0 * self.signal * along(solved * bend)
        by_mean = -along(self.weights[:, None] * bend)
        by_mean = by_mean if self.prior is None else by_mean + self.prior.slopes(inputs)
        return mean, np.maximum(variance, 0.0), by_mean, slope

    def likeness(self, inputs: Inputs) -> Floats:
        """Return the correlation of some rows with that of the model's own rows that is most like each, [m]."""
        result: Floats = self._correlate(inputs).max(0)
        return result

    def fitted(self) -> Floats:
        """Return the posterior mean at the model's own rows, [n]."""
        return self.y - self.noise * self.weights

    def left_out(self) -> Floats:
        """Return the posterior mean at each of the model's own rows given all others, [n]: `y - K^-1 (y - mean) / d`.

        `d` is the diagonal of `K^-1`.
        """
        from scipy.linalg.lapack import dpotri

        inverse, _ = dpotri(self.root, lower=1)
        result: Floats = self.y - self.weights / np.diag(inverse)
        return result

    def fantasize(self, inputs: Inputs) -> "HammingPosterior":
        """Return the process as if the losses at some rows [k] had come out at their expectation (kriging believer)."""
        new = object.__new__(HammingPosterior)
        new.hyper, new._owner, new._columns = self.hyper, self._owner, self._columns
        new.noise = grown_noise(self.noise, len(inputs), self.hyper.noise)
        new.known = None if self.known is None else self.known.grown(len(inputs))
        new.mean, new.signal, new.prior = self.mean, self.signal, self.prior
        cross = self._correlate(inputs)  # [n, k]
        expected = self._expect(inputs, cross)
        white = self.whiten(np.asfortranarray(cross))
        corner = factor(self._correlate(inputs, inputs) - white.T @ white, self.hyper.noise)  # [k, k]
        n, k = len(self.inputs), len(inputs)
        new.root = np.zeros((n + k, n + k), order="F")
        new.root[:n, :n], new.root[n:, :n], new.root[n:, n:] = self.root, white.T, corner
        new.inputs, new.y = self.inputs.joined(inputs), np.concatenate([self.y, expected])
        new.white = np.concatenate([self.white, np.zeros(k)])  # what came out as expected tells nothing new
        return new

    def _correlate(self, inputs: Inputs, to: Inputs | None = None) -> Floats:
        """Return the kernel between the model's own rows, or the rows `to`, and others, [n, m]."""
        own, overlap = (self.inputs, self._overlap) if to is None else (to, Overlap(to, len(self._owner)))
        kernel = overlap(inputs, self._columns)
        if own.numbers.shape[1]:
            kernel *= matern(own.numbers / self.hyper.lengths, inputs.numbers / self.hyper.lengths)
        return kernel


class OptionColumns:
    """Options of the model's rows [n, c], each as its number among the `count` options of all categories."""

    def __init__(self, rows: Rows, count: int) -> None:
        taken = np.zeros(count, bool)
        taken[rows] = True
        self._dense = count <= MAX_DENSE_OPTIONS
        self._used: Rows = np.arange(count) if self._dense else np.flatnonzero(taken)
        self._column = np.full(count, len(self._used))
        self._column[self._used] = np.arange(len(self._used))
        self._own = self._ones(rows)

    def shared(self, rows: Rows, weights: Floats) -> Floats:
        """Return the weights [w] of the options that the model's rows share with others [m, c], summed, [n, m]."""
        columns, ones = weights[self._used], self._ones(rows)
        if self._dense:
            return np.asarray((self._own * columns) @ ones.T)
        return np.ascontiguousarray((ones @ (self._own * columns).toarray().T).T)

    def sums(self, pairs: Floats) -> tuple[Rows, Floats]:
        """Return the options in use, and the sum of symmetric `pairs` [n, n] over the rows that share each, [u]."""
        if self._dense:
            return self._used, np.einsum("ij,ij->j", pairs @ self._own, self._own)
        return self._used, np.asarray((self._own * (self._own.T @ pairs).T).sum(0))

    def _ones(self, rows: Rows) -> Any:
        """Return rows [m, c] as ones in the columns of their options, [m, u]; nothing where an option has none."""
        from scipy.sparse import csr_array

        column = self._column[rows]
        if self._dense:
            ones = np.zeros((len(rows), len(self._used)))
            ones[np.arange(len(rows))[:, None], column] = 1.0
            return ones
        there = column < len(self._used)
        ends = np.concatenate([[0], np.cumsum(there.sum(1))])
        return csr_array((np.ones(ends[-1]), column[there], ends), shape=(len(rows), len(self._used)))
