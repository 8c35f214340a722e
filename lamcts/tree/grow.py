"""The tree of latent actions: settings, and its growth with the data.

The tree is a pure function of the rows, the settings and the seed. A node is fitted on its first m rows in order of
arrival, where m is the largest available of 2θ, 3θ, 4.5θ, ... (θ the leaf size). The node's path and m determine its
random stream. New rows change a split only when its node reaches its next m. A tree grown row by row therefore equals a
tree grown from all rows at once. Nodes are fitted at first use.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.rng import Purpose, stream
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.box import Box
from lamcts.spaces.regions.region import Region, Split, Step
from lamcts.tree.boundary import Kernel
from lamcts.tree.linear import Linear
from lamcts.tree.node import Node
from lamcts.tree.select import SELECT, NodeValue, node_value, ranks, raw
from lamcts.tree.splits import MIN_ROWS, KMeansSvm, Splitter, thin
from lamcts.types import Floats, Rows, is_number, whole_number

LEAF_SIZE = 20  # thesis 5.6.1, as θ
GROWTH = 1.5  # factor of a node's rows between fits: log n fits a node, while a smaller one follows the data sooner at
# a higher cost (paper: a fit at every ask)
MAX_DEPTH = 32  # splits on a path: halves would need 2^32 rows, so only very unequal splits reach it
BLOCK_NUMBERS = 2_000_000  # numbers of x copied at once when rows are assigned to children: 16 MB


@dataclass(frozen=True)
class LatentTree:
    """Settings of the tree (LA-MCTS, thesis ch. 5; with `lanas`, ch. 4).

    Parameters
    ----------
    leaf_size : int or None, default None
        A node is split from twice as many rows on. None is the number of coordinates, at least 20: in 100 dimensions
        leaves of 20 rows harmed TuRBO, of 100 they helped. The paper's θ is twice this: 20, and 100 on MuJoCo.
    splitter : Splitter, default KMeansSvm()
        How a node is split. It sees ranks, and with `units="raw"` the objective.
    cp : float, default 0.1
        Exploration constant of "ucb", in the unit of `values`: 1 to 10 % of the largest value (thesis 5.4.4). The paper
        uses 1, and 10 on MuJoCo, in raw values.
    selector : {"ucb", "leaf"}, default "ucb"
        How a leaf is selected (thesis 5.3). "ucb" descends to the child of the highest upper bound. "leaf" compares the
        upper bounds of all leaves.
    values : {"ranks", "raw", "hypervolume"}, default "ranks"
        Value of a node. "ranks" is the mean rank among all rows, in [0, 1], which depends on no unit. "raw" is the mean
        of the objective, as in the paper. "hypervolume" is the share that the node's feasible rows dominate, as in
        LaMOO.
    height : int or None, default None
        Splits on every path, instead of `leaf_size`; LaNAS has such a tree (thesis ch. 4). None uses `leaf_size`.
    refit : int or None, default None
        Number of new rows after which the whole tree is fitted again: 50 in LaNAS, 1 in LA-MCTS. None refits each node
        when it has grown by half.

    Examples
    --------
    >>> import lamcts
    >>> tree = lamcts.LatentTree(leaf_size=5)
    >>> opt = lamcts.Optimizer([(-5, 10)] * 2, sampler=lamcts.samplers.LaMcts(tree=tree), n_init=12, seed=0)
    >>> for trial in opt.ask(12):
    ...     opt.tell(trial, float(trial.point @ trial.point))
    >>> tree.incremental(opt.space, opt.seen).root().visits
    12
    """

    leaf_size: int | None = None
    splitter: Splitter = field(default_factory=KMeansSvm)
    cp: float = 0.1
    selector: Literal["ucb", "leaf"] = "ucb"
    values: Literal["ranks", "raw", "hypervolume"] = "ranks"
    height: int | None = None
    refit: int | None = None

    def __post_init__(self) -> None:
        if self.leaf_size is not None and not (is_number(self.leaf_size) and self.leaf_size >= 2):
            raise ValueError(f"LatentTree: expected a leaf_size of at least 2, got {self.leaf_size!r}")
        if not (is_number(self.cp) and 0 <= self.cp < np.inf):
            raise ValueError(f"LatentTree: expected a finite cp of at least 0, got {self.cp!r}")
        if self.selector not in SELECT:
            raise ValueError(f"LatentTree: expected a selector of {', '.join(SELECT)}, got {self.selector!r}")
        if self.values not in ("ranks", "raw", "hypervolume"):
            raise ValueError(f"LatentTree: expected values ranks, raw or hypervolume, got {self.values!r}")
        if self.height is not None and self.height < 1:
            raise ValueError(f"LatentTree: expected a height of at least 1 or None, got {self.height}")
        whole_number(self.refit, "LatentTree: refit", optional=True)

    @classmethod
    def paper(cls, theta: int = 20, cp: float = 1.0, kernel: Kernel = "rbf") -> "LatentTree":
        """Return the tree of LA-MCTS as published (thesis 5.3); `LaMcts.paper()` has it.

        It makes one k-means of `[x, f(x)]` in raw units and one machine for each node, and uses raw node values. What
        differs: the machine sees x standardised by the node's rows, and at most 500 rows, one from each of 500 slices
        by value; with constraints, several objectives or a space that is no `Box`, clusters see ranks or the unit cube;
        a side with fewer than two rows makes no split. The bound has v_j where the thesis prints v_j / n_j, which
        divides twice.

        Parameters
        ----------
        theta : int, default 20
            Rows from which on a node is split, an even number (thesis 5.6.1); 100 on MuJoCo.
        cp : float, default 1.0
            Exploration constant, in the unit of the objective: 1 to 10 % of the largest value (thesis 5.4.4).
        kernel : {"rbf", "linear", "poly"}, default "rbf"
            Kernel of the machine (thesis 5.6.1); "linear" on the largest MuJoCo tasks.
        """
        whole_number(theta, "LatentTree.paper: theta", least=4)
        splitter = KMeansSvm(kernel, min_share=0.0, units="raw")
        return cls((theta + 1) // 2, splitter, cp, values="raw", refit=1)

    @classmethod
    def lanas(cls, height: int = 8, cp: float = 0.1) -> "LatentTree":
        """Return the tree of LaNAS: full to a fixed height, with linear splits (thesis ch. 4).

        Parameters
        ----------
        height : int, default 8
            Splits on every path (thesis 5.6.1).
        cp : float, default 0.1
            Exploration constant, in the unit of `values`: a tenth of the largest value (thesis 4.3.1).
        """
        return cls(height=height, cp=cp, splitter=Linear(min_share=0.0))

    @classmethod
    def lamoo(cls, cp: float = 0.1, selector: Literal["ucb", "leaf"] = "leaf") -> "LatentTree":
        """Return the tree of LaMOO for several objectives (Zhao et al., ICLR 2022).

        The half with the lower dominance number is good. A node is split from 16 rows on,
        and its value is the hypervolume of its rows. What differs from the published code: the boundary alone assigns a
        row to a side; it is fitted on at most 500 rows, standardised, with a kernel of width 1/d.

        Parameters
        ----------
        cp : float, default 0.1
            Exploration constant, as a share of the largest hypervolume.
        selector : {"leaf", "ucb"}, default "leaf"
            "leaf" is algorithm 2 of the paper, "ucb" algorithm 1.
        """
        return cls(8, KMeansSvm(labels="median", min_share=0.0), cp, selector, "hypervolume", refit=1)

    def incremental(self, space: SearchSpace, seen: Observations, seed: int = 0) -> "IncrementalTree":
        """Return the tree over `seen`, which grows as rows arrive: the same for the same rows and seed."""
        return IncrementalTree(self, space, seen, seed)

    def select(self, root: Node, rng: np.random.Generator) -> Region:
        """Return the region of the selected leaf; `rng` breaks ties."""
        return SELECT[self.selector](root, rng, self.cp)

    def least_rows(self, dim: int) -> int:
        """Return the number of rows from which on a node is split in `dim` dimensions."""
        if self.height is not None:
            return MIN_ROWS
        return 2 * (max(LEAF_SIZE, dim) if self.leaf_size is None else self.leaf_size)

    def fit_size(self, n: int, dim: int) -> int:
        """Return the number of a node's `n` rows on which its split is fitted; 0 for a leaf."""
        size = float(self.least_rows(dim))
        if n < size:
            return 0
        if self.refit is not None:
            return n
        while int(size * GROWTH) <= n:
            size *= GROWTH
        return int(size)


class _Snapshot(NamedTuple):
    """State of the evaluations in a root and its nodes."""

    n: int  # number of rows
    fit_end: int  # splits are fitted on rows below this number
    value: NodeValue


@dataclass
class _FittedSplit:
    """A split fitted on the first `n_fitted` rows (None: no split), and its good and bad children."""

    n_fitted: int
    split: Split | None
    n_routed: int = 0  # rows of the node that are assigned to children
    kids: tuple["_CachedNode", "_CachedNode"] = field(default_factory=lambda: (_CachedNode(), _CachedNode()))


@dataclass
class _CachedNode:
    """Cache of a node between calls: its rows, ascending, and its latest fit."""

    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    fitted: _FittedSplit | None = None


class IncrementalTree:
    """A tree that follows the evaluations. `root()` is cheap: a node is fitted at first use."""

    def __init__(self, tree: LatentTree, space: SearchSpace, seen: Observations, seed: int) -> None:
        self._tree = tree
        self._space = space
        self._seen = seen
        self._seed = seed
        self._depth = MAX_DEPTH if tree.height is None else tree.height
        self._root = _CachedNode()
        self._fit_end = 0  # of the root, with `refit`

    def root(self) -> Node:
        """Return the root over all rows. Later rows do not change it or its children."""
        seen = self._seen
        fit_end = self._fit_end_after(len(seen))
        if self._tree.refit is not None and fit_end != self._fit_end:
            self._root = _CachedNode()
            self._fit_end = fit_end
        self._root.rows = seen.good
        snapshot = _Snapshot(len(seen), fit_end, node_value(self._tree.values, seen))
        return self._node(self._root, snapshot, seen.pending_x(), ())

    def _fit_end_after(self, n: int) -> int:
        """Return the row below which rows fit the tree after `n` rows: all of them, or whole multiples of `refit`."""
        if self._tree.refit is None:
            return n
        good = self._good(n)
        n_fitted = len(good) // self._tree.refit * self._tree.refit
        return int(good[n_fitted - 1]) + 1 if n_fitted else 0

    def _good(self, n: int) -> Rows:
        return self._seen.good[: np.searchsorted(self._seen.good, n)]

    def select(self, rng: np.random.Generator) -> Region:
        """Return the region of the leaf selected now; `rng` breaks ties."""
        return self._tree.select(self.root(), rng)

    def region(self, path: tuple[bool, ...], n: int) -> Region:
        """Return the region along `path`, the sides from the root, of the tree after the first `n` rows."""
        cached = _CachedNode(self._good(n))
        snapshot = _Snapshot(n, self._fit_end_after(n), node_value(self._tree.values, self._seen))
        node = self._node(cached, snapshot, self._seen.pending_x()[:0], ())
        steps: list[Step] = []
        for side in path:
            steps.append(node.steps()[0 if side else 1])
            node = node.kids[0 if side else 1]
        return node.region(tuple(steps))

    def _node(self, cached: _CachedNode, snapshot: _Snapshot, pending: Floats, path: tuple[int, ...]) -> Node:
        rows = cached.rows[: np.searchsorted(cached.rows, snapshot.n)]  # without later rows
        value = snapshot.value(rows) if len(rows) else 0.0

        def expand(node: Node) -> tuple[Split, Node, Node] | None:
            return self._expand(node, cached, snapshot, path)

        return Node(self._space, rows, value, pending, len(path), expand)

    def _expand(
        self, node: Node, cached: _CachedNode, snapshot: _Snapshot, path: tuple[int, ...]
    ) -> tuple[Split, Node, Node] | None:
        """Return the split and the children of a node at a snapshot, None for a leaf."""
        n_usable = int(np.searchsorted(node.rows, snapshot.fit_end))
        n_fitted = self._tree.fit_size(n_usable, self._space.dim) if len(path) < self._depth else 0
        if not n_fitted:
            return None
        fitted = cached.fitted
        if fitted is None or fitted.n_fitted != n_fitted:
            fitted = _FittedSplit(n_fitted, self._fit(node.rows[:n_fitted], path))
            if cached.fitted is None or cached.fitted.n_fitted < n_fitted:  # a fit of an older root is not cached
                cached.fitted = fitted
        if fitted.split is None:
            return None
        self._route(fitted, fitted.split, node.rows)
        is_good = fitted.split.good(node.pending)
        good = self._node(fitted.kids[0], snapshot, node.pending[is_good], (*path, 1))
        bad = self._node(fitted.kids[1], snapshot, node.pending[~is_good], (*path, 0))
        if min(len(good.rows), len(bad.rows)) < 2:
            return None
        return fitted.split, good, bad

    def _fit(self, rows: Rows, path: tuple[int, ...]) -> Split | None:
        """Return the split of rows [m], the first rows of a node."""
        splitter = self._tree.splitter
        utility = ranks(self._seen.constrained_rank(rows))
        rng = stream(self._seed, Purpose.TREE, len(rows), *path)
        sample = thin(utility, splitter.max_rows, rng)  # before x is copied, which may be wide
        x = self._seen.x[rows[sample]]
        targets = utility[sample]
        if self._seen.plain and isinstance(splitter, (KMeansSvm, Linear)) and splitter.units == "raw":
            targets = raw(self._seen.y[rows[sample]])
            if isinstance(splitter, KMeansSvm):
                widths = self._space.high - self._space.low if isinstance(self._space, Box) else 1.0
                return splitter.fit(x, targets, rng, widths)
        return splitter.fit(x, targets, rng)

    def _route(self, fitted: _FittedSplit, split: Split, rows: Rows) -> None:
        """Assign the new rows of a node to its children."""
        block = max(1, BLOCK_NUMBERS // self._space.dim)
        for start in range(fitted.n_routed, len(rows), block):
            new = rows[start : start + block]
            is_good = split.good(self._seen.x[new])
            for kid, is_here in zip(fitted.kids, (is_good, ~is_good), strict=True):
                kid.rows = np.concatenate([kid.rows, new[is_here]])
        fitted.n_routed = max(fitted.n_routed, len(rows))
