"""The optimal schedule within a memory budget by integer programming, for small graphs (Checkmate, Jain et al. 2020).

At every backward step each storage is resident or not, and may be fetched or recomputed any number of times. Plans are
such schedules, so no plan within the budget is faster if transfers do not overlap (`Machine(overlap=False)`). Solved by
SciPy's HiGHS.

Letters: n movable storages i, B backward steps b, and within a step n + 1 moments k: at moment k < n storage k may be
materialised, at moment n the step itself runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamcts.neural.graphs import MB, StepGraph
from lamcts.neural.memory.graph_tables import GraphTables, graph_tables
from lamcts.neural.memory.machine import Machine
from lamcts.types import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SECONDS = 60.0  # time limit of the solver
GAP = 1e-9  # relative optimality gap
INFEASIBLE = 2  # SciPy's code


class OptimalSchedule(NamedTuple):
    """The optimal schedule: seconds of a training step, recomputations, and fetches."""

    seconds: float
    recomputes: int
    fetches: int


def optimum(
    graph: StepGraph, budget_bytes: int, machine: Machine | None = None, *, limit_seconds: float = SECONDS
) -> OptimalSchedule | None:
    """Return the fastest schedule within a memory budget, or None if none exists.

    Transfers never overlap computing, whatever `machine.overlap`.

    Parameters
    ----------
    graph : StepGraph
        The training step; a few dozen storages at most.
    budget_bytes : int
        Largest peak in bytes, without `graph.outside_bytes`.
    machine : Machine, default Machine()
        Rates of the simulation.
    limit_seconds : float, default 60
        Time limit of the solver.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    programme = _Programme(graph_tables(graph, machine or Machine()), budget_bytes / MB)
    programme.forward()
    for b in range(programme.steps):
        programme.backward(b)
    found = milp(
        programme.costs,
        integrality=programme.whole.astype(int),
        bounds=Bounds(0, programme.most),
        constraints=LinearConstraint(programme.rows(), programme.low, programme.high),
        options={"time_limit": limit_seconds, "mip_rel_gap": GAP},
    )
    if found.status == INFEASIBLE:
        return None
    if found.status != 0:
        raise RuntimeError(f"expected a solution within {limit_seconds:g} s, got: {found.message} Take a smaller graph")
    return programme.schedule(np.round(found.x))


@dataclass
class _Programme:
    """Rows `low <= sum of factors times variables <= high`, with sizes in MB and times in ms for scaling.

    Variables: whether a storage stays after its last forward use, and whether it is offloaded; at each step whether it
    is resident, recomputed, fetched; at each moment whether it is held. The last need not be integer.
    """

    tables: GraphTables
    budget: float
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        tables = self.tables
        self.n, self.first = len(tables.size), tables.graph.forward_count
        self.steps = len(tables.graph.steps) - self.first
        self.size = [size / MB for size in tables.size]
        travel = [1e3 * tables.machine.transfer_seconds(size) for size in tables.size]
        making = [1e3 * seconds for seconds in tables.recompute_seconds]
        count = (2 + 3 * self.steps + self.steps * (self.n + 1)) * self.n
        self.costs, self.most, self.whole = np.zeros(count), np.ones(count), np.zeros(count)
        self.whole[: (2 + 3 * self.steps) * self.n] = 1
        self.costs[self.n : 2 * self.n] = travel
        for b in range(self.steps):
            for i in range(self.n):
                self.costs[self.made(i, b)], self.costs[self.fetched(i, b)] = making[i], travel[i]
                self.most[self.made(i, b)] = tables.recomputable[i]

    def stays(self, i: int) -> int:
        return i

    def goes(self, i: int) -> int:
        return self.n + i

    def resident(self, i: int, b: int) -> int:
        return (2 + 3 * b) * self.n + i

    def made(self, i: int, b: int) -> int:
        return (3 + 3 * b) * self.n + i

    def fetched(self, i: int, b: int) -> int:
        return (4 + 3 * b) * self.n + i

    def held(self, i: int, b: int, k: int) -> int:
        return (2 + 3 * self.steps + b * (self.n + 1) + k) * self.n + i

    def row(self, terms: Iterable[tuple[int, float]], low: float = -np.inf, high: float = np.inf) -> None:
        self.entries += [(len(self.low), column, factor) for column, factor in terms]
        self.low.append(low)
        self.high.append(high)

    def forward(self) -> None:
        """Bound the live bytes of each forward step."""
        tables = self.tables
        for t in range(self.first):
            spans = enumerate(zip(tables.first_write, tables.last_forward_use, strict=True))
            needed = sum(self.size[i] for i, (made, used) in spans if made <= t <= used)
            late = [(self.stays(i), self.size[i]) for i in range(self.n) if tables.last_forward_use[i] < t]
            self.row(late, high=self.budget - needed - tables.fixed_during[t] / MB)

    def backward(self, b: int) -> None:
        """Constrain backward step b: needs, sources of storages, and the live bytes of each moment."""
        tables, t = self.tables, self.first + b
        for i in range(self.n):
            before = self.stays(i) if b == 0 else self.held(i, b - 1, self.n)
            self.row([(self.resident(i, b), 1), (before, -1)], high=0)
            self.row([(self.fetched(i, b), 1), (self.goes(i), -1)], high=0)
            for k in range(self.n + 1):
                self._held(i, b, k)
            for source in tables.inputs[i]:
                self.row([(self.held(source, b, i), 1), (self.made(i, b), -1)], low=0)
        for i in tables.needs[t]:
            self.row([(self.held(i, b, self.n), 1)], low=1)
        for k in range(self.n + 1):
            fixed = (tables.fixed_during[t] if k == self.n else tables.fixed_before[t]) / MB
            scratch = [(self.made(k, b), tables.scratch[k] / MB)] if k < self.n else []
            self.row([(self.held(i, b, k), self.size[i]) for i in range(self.n)] + scratch, high=self.budget - fixed)

    def _held(self, i: int, b: int, k: int) -> None:
        """Constrain a storage at a moment: it was held before, or is materialised now."""
        materialised = [self.made(i, b), self.fetched(i, b)] if k == i else []
        before = self.held(i, b, k - 1) if k else self.resident(i, b)
        self.row([(self.held(i, b, k), 1), (before, -1), *((one, -1) for one in materialised)], high=0)
        for one in materialised:
            self.row([(self.held(i, b, k), 1), (one, -1)], low=0)

    def rows(self) -> "csr_array":
        """Return the factors as a sparse matrix [rows, variables]."""
        from scipy.sparse import csr_array

        rows, columns, factors = zip(*self.entries, strict=True)
        return csr_array((factors, (rows, columns)), shape=(len(self.low), len(self.costs)))

    def schedule(self, x: Floats) -> OptimalSchedule:
        pairs = [(i, b) for i in range(self.n) for b in range(self.steps)]
        seconds = self.tables.elapsed[-1] + float(self.costs @ x) / 1e3
        made, fetched = (int(sum(x[which(i, b)] for i, b in pairs)) for which in (self.made, self.fetched))
        return OptimalSchedule(seconds, made, fetched)
