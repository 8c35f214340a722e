"""Numbers of channels of a graph's values, by union-find and, where sums occur, an integer programme (A.5.7)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from lamcts.neural.graphs.computation.graph import OperationNode
from lamcts.neural.graphs.computation.kinds import OPERATIONS, Shape, channels
from lamcts.neural.graphs.computation.levels import Infeasible


@dataclass
class Widths:
    """Unknown numbers of channels, some equal to others, some known, some sums of others."""

    wanted: list[int]
    parent: list[int] = field(init=False)
    known: dict[int, int] = field(default_factory=dict)
    multiples: dict[int, int] = field(default_factory=dict)
    sums: list[tuple[int, list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.parent = list(range(len(self.wanted)))

    def find(self, value: int) -> int:
        """Return the representative of a value's class."""
        while self.parent[value] != value:
            self.parent[value] = self.parent[self.parent[value]]
            value = self.parent[value]
        return value

    def equal(self, one: int, other: int) -> None:
        """Give two values the same number of channels; raise Infeasible if they are known and differ."""
        first, second = sorted((self.find(one), self.find(other)))
        if first == second:
            return
        self.parent[second] = first
        if second in self.known:
            self.fix(first, self.known.pop(second))
        self.multiples[first] = math.lcm(self.multiples.get(first, 1), self.multiples.pop(second, 1))

    def fix(self, value: int, count: int) -> None:
        """Set a value's number of channels; raise Infeasible if another one is known."""
        root = self.find(value)
        if self.known.setdefault(root, count) != count:
            raise Infeasible(f"channels: {self.known[root]} and {count} of values that an operation keeps equal")

    def divisible(self, value: int, groups: int) -> None:
        """Let a value's number of channels be a multiple of `groups`."""
        root = self.find(value)
        self.multiples[root] = math.lcm(self.multiples.get(root, 1), groups)

    def free(self) -> list[int]:
        """Return the classes whose number nothing decides, ascending; those in sums are decided together."""
        summed = {self.find(one) for total, parts in self.sums for one in [total, *parts]}
        roots = {self.find(value) for value in range(len(self.wanted))}
        return sorted(roots - set(self.known) - summed)

    def keep(self, nodes: Sequence[OperationNode], shapes: Sequence[Shape] = ()) -> None:
        """Keep what operations ask of channels; values are `shapes`, which nodes read as -1 - i, and then nodes."""
        own = [*map(channels, shapes), *(channels(node.shape) for node in nodes)]
        for here, node in enumerate(nodes, len(shapes)):
            before = [-1 - one if one < 0 else len(shapes) + one for one in node.inputs]
            if node.op in ("input", "opaque", "slice"):
                for one in (here, *before):
                    self.fix(one, own[one])
                continue
            groups = int(node.attributes.get("groups", 1))  # type: ignore[arg-type]
            depthwise = groups > 1 and groups == own[before[0]]
            if groups > 1 and not depthwise:
                self.divisible(here, groups)
                self.divisible(before[0], groups)
            times = own[here] // own[before[0]] if depthwise or node.op == "flatten" else 1
            if node.op == "concat" or times > 1:
                self.sums.append((here, before * times))
            elif depthwise or not OPERATIONS[node.op].sets_channels:
                for one in before:
                    self.equal(one, here)

    def solve(self, factors: Sequence[float] = ()) -> list[int]:
        """Return the number of channels of each value."""
        found = dict(self.known)
        for i, root in enumerate(self.free()):
            count = self.wanted[root] * (factors[i] if i < len(factors) else 1)
            multiple = self.multiples.get(root, 1)
            found[root] = max(round(count / multiple), 1) * multiple
        if self.sums:
            found |= self._solve_sums(found)
        for root, count in found.items():
            if count % self.multiples.get(root, 1):
                raise Infeasible(f"channels: {count} is no multiple of {self.multiples[root]} groups")
        return [found[self.find(value)] for value in range(len(self.wanted))]

    def _solve_sums(self, found: Mapping[int, int]) -> dict[int, int]:
        """Return channels of the classes in sums, as near to what is wanted as possible (least absolute deviation)."""
        roots = sorted({self.find(one) for total, parts in self.sums for one in [total, *parts]})
        place, n = {root: i for i, root in enumerate(roots)}, len(roots)
        step = np.array([self.multiples.get(root, 1) for root in roots], dtype=float)
        rows = np.zeros((len(self.sums), 2 * n))
        for row, (total, parts) in zip(rows, self.sums, strict=True):
            for one, sign in [(total, -1.0), *((part, 1.0) for part in parts)]:
                row[place[self.find(one)]] += sign * step[place[self.find(one)]]
        want = np.array([self.wanted[root] for root in roots], dtype=float)
        near = np.vstack([np.hstack([np.diag(step), -np.eye(n)]), np.hstack([-np.diag(step), -np.eye(n)])])
        low, high = np.ones(n), np.full(n, np.inf)
        for root, i in place.items():
            if root in found:
                low[i] = high[i] = found[root] / step[i]
        solution = milp(
            np.concatenate([np.zeros(n), np.ones(n)]),
            constraints=[LinearConstraint(rows, 0, 0), LinearConstraint(near, -np.inf, np.concatenate([want, -want]))],
            integrality=np.concatenate([np.ones(n), np.zeros(n)]),
            bounds=Bounds(np.concatenate([low, np.zeros(n)]), np.concatenate([high, np.full(n, np.inf)])),
        )
        if solution.x is None:
            raise Infeasible("channels: no numbers whose concatenation has the channels that the network needs")
        return {root: round(solution.x[i] * step[i]) for root, i in place.items()}
