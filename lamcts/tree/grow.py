"""The tree of latent actions: settings, and its growth with the data.

The tree is a pure function of the rows seen, the settings and the seed. A node's split is fitted on its first m rows
in order of arrival, m the largest of 2θ, 3θ, 4.5θ, ... (θ the leaf size) that are there, with random numbers named by
the node's path and m. So new rows change a split only when they lift a node to its next m; all else is kept from
call to call, and what grew row by row equals what is grown from nothing. Only what is looked at is grown.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region, Split
from lamcts.rng import Purpose, stream
from lamcts.spaces.base import SearchSpace
from lamcts.tree import utility
from lamcts.tree.boundary import Kernel
from lamcts.tree.linear import Linear
from lamcts.tree.node import Node
from lamcts.tree.select import SELECT, follow
from lamcts.tree.splits import LEAST_ROWS, KMeansSvm, Splitter, thin
from lamcts.types import Floats, Rows, whole_number

GROWTH = 1.5  # a split is refitted when its node has grown by half: log n fits a node (untuned; paper: at every ask)
ROUTED = 2_000_000  # numbers of x copied at once when rows are sorted into the kids: 16 MB


@dataclass(frozen=True)
class LatentTree:
    """Settings of the tree (LA-MCTS, thesis ch. 5; with `lanas`, ch. 4).

    leaf_size: θ; a node is split from 2θ rows on (20; rows); thesis 5.6.1, functions and games; paper: 100 on MuJoCo's
        tasks, and a node is split as soon as it has more than θ rows.
    splitter: how a node is split; it sees the order of the values only (KMeansSvm(); see there); paper: it
        sees the values.
    cp: the exploration constant of "ucb" (0.1; in the unit of `values`, which for ranks ends at 1); thesis 5.4.4: 1 to
        10 % of the largest value; paper: 1, and 10 on MuJoCo's tasks, in raw values.
    selector: how a leaf is selected ("ucb"; or "greedy", "leaf"): "ucb" goes to the kid of the highest upper bound,
        "greedy" to that of the higher value, "leaf" takes the leaf of the highest upper bound; thesis 5.3.
    values: what a node's value is ("ranks"; or "raw", "hypervolume"): the mean rank among all rows, in [0, 1], so that
        nothing depends on the unit of the values; the mean value; or the share of the hypervolume that its feasible
        rows dominate, of objectives that are scaled to the range of all; paper: "raw", LaMOO "hypervolume".
    height: splits on every path, as far as rows allow; `leaf_size` is not used then (None: as `leaf_size` says;
        splits); paper: LaNAS has such a tree (ch. 4), LA-MCTS (ch. 5) has not.
    refit: rows after which the whole tree is learned anew, from all rows by then; it keeps its splits in between
        (None: each node by itself, when it has grown by half; rows); paper: LaNAS 50, LA-MCTS 1.
    max_depth: most splits on a path (32; splits); untuned; paper: none.
    room: rows that the region round a search of scope "incumbent" keeps (4; rows for each dimension): a tighter one
        would cut its trust region; untuned; paper: none, the search stays in its leaf.
    chooses: whether it says where to search (True); else it is a map of what was seen, to be looked at, and searches
        have the whole space; the default for real parameters needs none that chooses.
    """

    leaf_size: int = 20
    splitter: Splitter = field(default_factory=KMeansSvm)
    cp: float = 0.1
    selector: Literal["ucb", "greedy", "leaf"] = "ucb"
    values: Literal["ranks", "raw", "hypervolume"] = "ranks"
    height: int | None = None
    refit: int | None = None
    max_depth: int = 32
    room: int = 4
    chooses: bool = True

    def __post_init__(self) -> None:
        if self.leaf_size < 2:
            raise ValueError(f"LatentTree: expected a leaf_size of at least 2, got {self.leaf_size}")
        if not 0 <= self.cp < np.inf:
            raise ValueError(f"LatentTree: expected a finite cp of at least 0, got {self.cp}")
        if self.selector not in SELECT:
            raise ValueError(f"LatentTree: expected a selector of {', '.join(SELECT)}, got {self.selector!r}")
        if self.values not in ("ranks", "raw", "hypervolume"):
            raise ValueError(f"LatentTree: expected values ranks, raw or hypervolume, got {self.values!r}")
        if self.height is not None and self.height < 1:
            raise ValueError(f"LatentTree: expected a height of at least 1 or None, got {self.height}")
        whole_number(self.refit, "LatentTree: refit", optional=True)
        if self.max_depth < 0:
            raise ValueError(f"LatentTree: expected a max_depth of at least 0, got {self.max_depth}")
        if self.room < 0:
            raise ValueError(f"LatentTree: expected a room of at least 0, got {self.room}")

    @classmethod
    def paper(cls, theta: int = 20, cp: float = 1.0, kernel: Kernel = "rbf") -> "LatentTree":
        """Return the tree of LA-MCTS as published (thesis 5.3); with `Turbo(scope="incumbent")` it is the whole method.

        One k-means and a machine that nobody checks, node values in the objective's unit, the tree learned anew at
        every ask, and a search that stays in its leaf. Two things are ours: clusters see the ranks of values, and a
        search that has converged begins again outside of its leaf, where the paper's falls back into its valley.

        theta: rows from which on a node is split (20; rows, an even number): thesis 5.6.1; 100 on MuJoCo's tasks.
        cp: the exploration constant (1.0; in the unit of the values): 1 to 10 % of the largest value, thesis 5.4.4.
        kernel: of the machine ("rbf"; or "linear", on MuJoCo's largest tasks, "poly"); thesis 5.6.1.
        """
        whole_number(theta, "LatentTree.paper: theta", least=4)
        splitter = KMeansSvm(kernel, labels=("kmeans",), y_weight=(1.0,), min_share=0.0, check=None)
        return cls((theta + 1) // 2, splitter, cp, values="raw", refit=1, room=0)

    @classmethod
    def lanas(cls, height: int = 8, cp: float = 0.1) -> "LatentTree":
        """Return the tree of LaNAS: full to a fixed height, linear splits that nobody checks (thesis ch. 4).

        height: splits on every path (8; splits); thesis 5.6.1.
        cp: the exploration constant (0.1; in the unit of `values`): a tenth of the largest value, thesis 4.3.1.
        """
        return cls(height=height, cp=cp, splitter=Linear(min_share=0.0, check=None))

    @classmethod
    def lamoo(cls, cp: float = 0.1, selector: Literal["ucb", "leaf"] = "leaf") -> "LatentTree":
        """Return the tree of LaMOO for several objectives (Zhao et al., ICLR 2022).

        The better half by dominance number is good, nobody checks the splits, a node is split from 16 rows on and the
        tree is learned anew at every ask; a node's value is the hypervolume of its rows. The boundary alone says which
        side a row is on, where the published code goes by its label for the rows and by the boundary for proposals.

        cp: the exploration constant (0.1; of the largest hypervolume); its README: about a tenth.
        selector: "leaf" as its algorithm 2 ("leaf"; or "ucb", algorithm 1).
        """
        return cls(8, KMeansSvm(labels=("median",), min_share=0.0, check=None), cp, selector, "hypervolume", refit=1)

    def incremental(self, space: SearchSpace, seen: Observations, seed: int) -> "IncrementalTree":
        """Return the tree over `seen`, which grows as rows arrive there."""
        return IncrementalTree(self, space, seen, seed)

    def select(self, root: Node, rng: np.random.Generator) -> Region:
        """Return the region of the leaf that the selector leads to; `rng` breaks ties."""
        return SELECT[self.selector](root, rng, self.cp)

    def around(self, root: Node, x: Floats) -> Region:
        """Return the deepest region round `x` [d] that keeps `room` rows a dimension."""
        return follow(root, x, self.room * len(x))

    def fit_size(self, n: int) -> int:
        """Return m, how many of the `n` rows that a node may learn from its split is fitted on; 0: it stays a leaf."""
        size = float(2 * self.leaf_size if self.height is None else LEAST_ROWS)
        if n < size:
            return 0
        if self.refit is not None:
            return n
        while int(size * GROWTH) <= n:
            size *= GROWTH
        return int(size)


class _Moment(NamedTuple):
    """What a root and the nodes below it show: the state of `seen` when the root was asked for."""

    n: int  # number of rows seen
    learned: int  # splits are learned from rows below this number
    worth: utility.Worth


@dataclass
class _FittedSplit:
    """A split that was fitted on `m` rows, and what has been sorted into its sides; `split` None: no split."""

    m: int
    split: Split | None
    routed: int = 0  # how many of the node's rows have been sorted
    kids: tuple["_Place", "_Place"] = field(default_factory=lambda: (_Place(), _Place()))  # good, bad


@dataclass
class _Place:
    """What is kept of a node from call to call: its rows, ascending, and its latest fitted."""

    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    fitted: _FittedSplit | None = None


class IncrementalTree:
    """A tree that follows the data. `root()` is cheap: only nodes that are looked at are brought up to date."""

    def __init__(self, tree: LatentTree, space: SearchSpace, seen: Observations, seed: int) -> None:
        self._tree, self._space, self._seen, self._seed = tree, space, seen, seed
        self.chooses = tree.chooses  # whether it selects regions
        self._depth = tree.max_depth if tree.height is None else tree.height
        self._root, self._learned = _Place(), 0  # the second of use with `refit` alone

    def root(self) -> Node:
        """Return the root over all rows seen by now. It and its kids stay as they are when further rows arrive."""
        seen = self._seen
        if self._tree.refit is not None:
            self._relearn(self._tree.refit)
        self._root.rows = seen.good
        learned = len(seen) if self._tree.refit is None else self._learned
        now = _Moment(len(seen), learned, utility.worth(self._tree.values, seen))
        return self._node(self._root, now, seen.pending_x(), ())

    def _relearn(self, refit: int) -> None:
        """Forget all splits where `refit` more rows have come since they were learned."""
        good = self._seen.good
        whole = len(good) // refit * refit
        learned = int(good[whole - 1]) + 1 if whole else 0
        if learned != self._learned:
            self._root, self._learned = _Place(), learned

    def select(self, rng: np.random.Generator) -> Region:
        """Return the region of the leaf that the selector leads to now; `rng` breaks ties."""
        return self._tree.select(self.root(), rng)

    def around(self, x: Floats) -> Region:
        """Return the deepest region round `x` [d] that keeps enough rows now."""
        return self._tree.around(self.root(), x)

    def _node(self, place: _Place, at: _Moment, pending: Floats, path: tuple[int, ...]) -> Node:
        rows = place.rows[: np.searchsorted(place.rows, at.n)]  # later rows are none of this root's
        value = at.worth(rows) if len(rows) else 0.0

        def expand(node: Node) -> tuple[Split, Node, Node] | None:
            return self._expand(node, place, at, path)

        return Node(self._space, rows, value, pending, len(path), expand)

    def _expand(self, node: Node, place: _Place, at: _Moment, path: tuple[int, ...]) -> tuple[Split, Node, Node] | None:
        """Return the node's split and kids, brought up to date as far as this moment needs."""
        usable = int(np.searchsorted(node.rows, at.learned))
        m = self._tree.fit_size(usable) if len(path) < self._depth else 0
        if not m:
            return None
        fitted = place.fitted
        if fitted is None or fitted.m != m:
            fitted = _FittedSplit(m, self._fit(node.rows[:m], path))
            if place.fitted is None or place.fitted.m < m:  # else an old root is looked at: leave the newer fitted be
                place.fitted = fitted
        if fitted.split is None:
            return None
        self._route(fitted, fitted.split, node.rows)
        side = fitted.split.good(node.pending)
        good = self._node(fitted.kids[0], at, node.pending[side], (*path, 1))
        bad = self._node(fitted.kids[1], at, node.pending[~side], (*path, 0))
        if min(len(good.rows), len(bad.rows)) < 2:
            return None
        return fitted.split, good, bad

    def _fit(self, rows: Rows, path: tuple[int, ...]) -> Split | None:
        """Return the split of these rows [m], the first of a node in order of arrival."""
        order = utility.ranks(self._seen.constrained_rank(rows))
        rng = stream(self._seed, Purpose.TREE, len(rows), *path)
        some = thin(order, self._tree.splitter.max_rows, rng)  # before x is copied: it may be wide
        return self._tree.splitter.fit(self._seen.x[rows[some]], order[some], rng)

    def _route(self, fitted: _FittedSplit, split: Split, rows: Rows) -> None:
        """Sort the rows of a node that its fitted has not sorted yet into the kids."""
        block = max(1, ROUTED // self._space.dim)
        for start in range(fitted.routed, len(rows), block):
            new = rows[start : start + block]
            good = split.good(self._seen.x[new])
            for kid, mine in zip(fitted.kids, (good, ~good), strict=True):
                kid.rows = np.concatenate([kid.rows, new[mine]])
        fitted.routed = max(fitted.routed, len(rows))
