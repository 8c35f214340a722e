"""Communication models of LU: ours, those of other libraries, and the lower bound."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from lamcts.movement import costs
from lamcts.movement.linalg.grid import checked_grid
from lamcts.types import whole_number

WORD = 8  # bytes
USED = 0.9  # least share of the ranks that a best grid has (untuned)
LU_NEST = costs.kernels.KERNELS["lu"].text  # section 6 of the paper
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Volume:
    """Words that a rank receives, on average over the ranks, by model.

    Parameters
    ----------
    grid : tuple of int
        Grid (px, py, pz) of our algorithm; it may leave some of the P ranks out.
    block : int
        Width of a step of our algorithm.
    kinds : mapping of str to float
        Words of our algorithm by kind, as `Words.by_kind` counts them, for each rank of the grid.
    conflux, scalapack, candmc : float
        Models of COnfLUX with c = v = P^(1/3), of 2-D LU as in ScaLAPACK, and the leading term of CANDMC.
    bound : float
        Loads that no schedule avoids with `memory` words a rank, of which none is loaded before.
    memory : float
        Words that a rank of our grid has of the matrix and its layers.
    """

    N: int
    P: int
    grid: Shape
    block: int
    kinds: dict[str, float] = field(hash=False)
    conflux: float
    scalapack: float
    candmc: float
    bound: float
    memory: float

    @property
    def ours(self) -> float:
        """Words of our algorithm."""
        return sum(self.kinds.values())

    @property
    def gb(self) -> dict[str, float]:
        """Gigabytes of all ranks by model, 8 bytes a word."""
        used = math.prod(self.grid)
        models = {"ours": self.ours * used / self.P, "bound": self.bound * used / self.P}
        models |= {"conflux": self.conflux, "scalapack": self.scalapack, "candmc": self.candmc}
        return {name: words * self.P * WORD / 1e9 for name, words in models.items()}


def volume(N: int, P: int, grid: Shape | str = "best", block: int | None = None) -> Volume:
    """Return the words that ranks receive during an LU factorisation, by model.

    Parameters
    ----------
    N : int
        Rows of the square matrix.
    P : int
        Number of ranks.
    grid : tuple of int or "best", default "best"
        Grid (px, py, pz) of at most P ranks. "best" receives the fewest words a rank by our model, of those that use
        nine tenths of the ranks.
    block : int, optional
        Width of a step, at least pz. None: pz, which receives the fewest words.

    Notes
    -----
    Our model sums over the steps, and counts what `Words` counts but for the last steps of the tournament. The other
    models are those of table 2 of Kwasniewski et al., SC 2021.

    Examples
    --------
    >>> from lamcts.movement import linalg
    >>> found = linalg.volume(N=16384, P=1024)
    >>> found.grid, found.block
    ((13, 13, 6), 6)
    >>> {name: round(gb, 1) for name, gb in found.gb.items()}
    {'ours': 39.8, 'bound': 18.6, 'conflux': 44.8, 'scalapack': 70.9, 'candmc': 108.2}
    """
    whole_number(N, "N")
    whole_number(P, "P")
    shape = best_grid(N, P) if isinstance(grid, str) and grid == "best" else _fitting(grid, P)
    width = min(shape[2], N) if block is None else whole_number(block, "block", min(shape[2], N))
    memory = N * N * shape[2] / math.prod(shape)
    bound = costs.nest(LU_NEST, N=N).lower_bound(max(3, round(memory)), math.prod(shape))
    return Volume(
        N=N,
        P=P,
        grid=shape,
        block=width,
        kinds=words_of_grid(N, shape, width),
        conflux=conflux(N, P),
        scalapack=N**2 * (math.sqrt(P) + 1) / P,
        candmc=5 * N**2 / P ** (2 / 3),
        bound=bound.daap,
        memory=memory,
    )


def _fitting(grid: object, P: int) -> Shape:
    """Return a grid of at most P ranks."""
    shape = checked_grid(grid)
    if math.prod(shape) > P:
        raise ValueError(f"grid: expected at most P = {P} ranks, got {math.prod(shape)}; P={math.prod(shape)}")
    return shape


def words_of_grid(N: int, grid: Shape, block: int) -> dict[str, float]:
    """Return the words that a rank receives by kind: sums over the steps t, which have m rows and w columns."""
    px, py, pz = grid
    steps, last = divmod(N, block)
    widths = [(block, steps), (last, 1 if last else 0)]  # of steps, and how many
    squares = sum(count * w * w for w, count in widths)
    after = (N * N - squares) / 2  # sum of (m - w) w
    before = after + squares  # sum of m w
    corner = squares + N  # sum of w^2 + w
    lower = (squares - N) / 2 + N  # sum of w (w - 1) / 2 + w
    column, ranks = px * pz, px * py * pz
    kinds = {
        "columns": (pz - 1) * before,
        "tournament": (column - 1) * corner,
        "pivots": (column - 1) * corner + (ranks - column) * lower,
        "rows": (pz - 1 / px) * after,
        "panels": (px + py - 2 / pz) * after,
    }
    return {name: words / ranks for name, words in kinds.items()}


def conflux(N: float, P: float, c: float | None = None) -> float:
    """Return the words of a rank by the steps of Algorithm 1, with c layers (None: P^(1/3)) and blocks of v = c."""
    c = P ** (1 / 3) if c is None else c
    after = N * (N - c) / 2  # sum of (N - t v) v
    return 2 * after * (c - 1) / P + 2 * after / P + 2 * after / math.sqrt(P * c) + N * (c + 1)


def best_grid(N: int, ranks: int, all_ranks: bool = False) -> Shape:
    """Return the grid of nine tenths of the ranks or more (`all_ranks`: of all) that receive the fewest words."""
    whole_number(ranks, "P")
    least = ranks if all_ranks else USED * ranks
    return min(_grids(ranks, least), key=lambda grid: (sum(words_of_grid(N, grid, min(grid[2], N)).values()), grid))


def _grids(ranks: int, least: float) -> Iterator[Shape]:
    """Yield grids of at least `least` ranks, at most 64 times as wide as high or the reverse."""
    for pz in range(1, math.ceil(2.5 * ranks ** (1 / 3)) + 1):
        square = math.sqrt(ranks / pz)
        for px in range(max(1, int(square / 8)), min(ranks // pz, int(8 * square) + 1) + 1):
            py = ranks // (px * pz)
            if px * py * pz >= least:
                yield px, py, pz
