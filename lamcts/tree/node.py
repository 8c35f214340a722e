"""A node of the tree, and iteration over a whole tree."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.region import Region, Split, Step
from lamcts.types import Floats, Rows


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the space with its rows. Its split is fitted at first use.

    Attributes
    ----------
    space : search space
        The whole space.
    rows : ndarray of shape (n,)
        Successful evaluations inside, in order of arrival.
    value : float
        Mean utility of the rows, higher is better.
    pending : ndarray of shape (p, d)
        Pending points inside.
    depth : int
        Number of splits above.
    """

    space: SearchSpace = field(repr=False)
    rows: Rows = field(repr=False)
    value: float
    pending: Floats = field(repr=False)
    depth: int
    expand: Callable[["Node"], tuple[Split, "Node", "Node"] | None] = field(repr=False)

    @property
    def visits(self) -> int:
        """Number of rows and pending points inside."""
        return len(self.rows) + len(self.pending)

    @property
    def split(self) -> Split | None:
        """The boundary between the children, None for a leaf."""
        return self._fitted[0] if self._fitted else None

    @property
    def kids(self) -> tuple["Node", ...]:
        """The good and the bad child, in this order; empty for a leaf."""
        return self._fitted[1:] if self._fitted else ()

    @cached_property
    def _fitted(self) -> tuple[Split, "Node", "Node"] | None:
        return self.expand(self)

    def steps(self) -> tuple[Step, Step]:
        """Return the steps to the good and to the bad child.

        Raises
        ------
        RuntimeError
            If the node is a leaf.
        """
        if self.split is None:
            raise RuntimeError("steps: expected a node with kids, got a leaf; look at node.kids first")
        return Step(self.split, True), Step(self.split, False)

    def region(self, steps: tuple[Step, ...]) -> Region:
        """Return the region of this node.

        Parameters
        ----------
        steps : tuple of Step
            Steps from the root to this node.

        Returns
        -------
        Region
            The region, with the node's rows.
        """
        return Region(self.space, steps, self.rows)


def walk(root: Node, depth: int | None = None) -> Iterator[Node]:
    """Yield every node down to `depth` splits below the root, parents first and good before bad.

    >>> import lamcts
    >>> from lamcts.tree import LatentTree, walk
    >>> opt = lamcts.Optimizer([(0, 1)], seed=0)
    >>> len(list(walk(LatentTree().incremental(opt.space, opt.seen).root())))
    1
    """
    for _, node in paths(root, depth):
        yield node


def paths(
    root: Node, depth: int | None = None, steps: tuple[Step, ...] = ()
) -> Iterator[tuple[tuple[Step, ...], Node]]:
    """Yield `(steps from the root, node)` in the order of `walk`; `node.region(steps)` is the node's region."""
    yield steps, root
    if (depth is None or len(steps) < depth) and root.kids:
        for step, kid in zip(root.steps(), root.kids, strict=True):
            yield from paths(kid, depth, (*steps, step))
