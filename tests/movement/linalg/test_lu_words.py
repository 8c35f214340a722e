"""Words that ranks receive: counted as messages pass, equal to sums over the steps, above the lower bound."""

import math

import numpy as np
import pytest

from lamcts.movement import linalg
from lamcts.movement.linalg.volume import LU_NEST, words_of_grid


def normal(size: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=(size, size))


def tournament_words(lu: linalg.LU) -> int:
    """Return the words of all matches, from the numbers of rows that the ranks of a grid column have left."""
    (px, py, _), v = lu.grid, lu.block
    left, total = np.bincount(np.arange(len(lu.perm)) // v % px, minlength=px), 0
    for t in range(len(lu.perm) // v):
        first = t // py % px
        rows = list(np.roll(left, -first))
        step = 1
        while step < px:
            for place in range(0, px - step, 2 * step):
                total += min(v, rows[place + step]) * (v + 1)
                rows[place] = min(v, rows[place]) + min(v, rows[place + step])
            step *= 2
        for pivot in lu.perm[t * v : (t + 1) * v]:
            left[pivot // v % px] -= 1
    return total


@pytest.mark.parametrize(("grid", "block"), [((4, 4, 1), 8), ((2, 4, 1), 4), ((8, 2, 1), 8), ((4, 1, 1), 16)])
def test_counted_words_of_one_layer_equal_the_closed_sum_term_by_term(grid, block) -> None:
    N, (px, py, _), v = 128, grid, block
    lu = linalg.lu(normal(N), grid, v)
    steps = [N - (t + 1) * v for t in range(N // v)]  # rows and columns left after each
    ranks, packed, lower = px * py, v * v + v, v * (v - 1) // 2 + v
    assert lu.words.by_kind == {
        "columns": 0,
        "tournament": tournament_words(lu),
        "pivots": len(steps) * ((px - 1) * packed + (ranks - px) * lower),
        "rows": sum(m * v * (px - 1) // px for m in steps),
        "panels": sum(m * v * (py - 1) + v * m * (px - 1) for m in steps),
    }


@pytest.mark.parametrize(("grid", "block"), [((4, 4, 1), 8), ((4, 4, 2), 8), ((2, 2, 4), 8), ((4, 2, 2), 16)])
def test_the_model_counts_what_the_ranks_receive(grid, block) -> None:
    lu, model = linalg.lu(normal(128), grid, block), words_of_grid(128, grid, block)
    ranks = math.prod(grid)
    for kind, words in lu.words.by_kind.items():
        if kind == "tournament":
            assert 0.6 * model[kind] * ranks <= words <= model[kind] * ranks
        else:
            assert words == pytest.approx(model[kind] * ranks, rel=1e-12)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((4, 4, 1), 4),
        pytest.param((4, 4, 4), 4, marks=pytest.mark.dear),
        ((8, 8, 1), 8),
        pytest.param((4, 4, 2), 2, marks=pytest.mark.dear),
        ((2, 2, 4), 4),
    ],
)
def test_counted_words_are_above_the_lower_bound(grid, block) -> None:
    lu, model = linalg.lu(normal(128), grid, block), linalg.volume(128, math.prod(grid), grid, block)
    assert model.bound <= lu.words.mean <= lu.words.most


def test_the_bound_is_that_of_the_loop_nest_and_of_its_closed_form() -> None:
    from lamcts.movement import costs

    N, P, M = 512, 64, 4096
    found = costs.nest(LU_NEST, N=N).lower_bound(M, P).daap
    closed = N * (N - 1) * (2 * N - 1) / 6 * 2 / math.sqrt(M) / P
    printed = (2 * N**3 - 6 * N**2 + 4 * N) / (3 * math.sqrt(M)) / P  # without N (N - 1) / 2 of the columns
    assert found == pytest.approx(closed, rel=1e-12) == pytest.approx(linalg.volume(N, P, (8, 8, 1)).bound, rel=1e-12)
    assert found == pytest.approx(printed, rel=0.005)  # section 6 counts a few iterations too few


def test_words_are_counted_by_rank_step_and_kind() -> None:
    words = linalg.lu(normal(32), (2, 2, 2), 8).words
    assert words.counts.shape == (8, 4, 5)
    assert words.total == words.by_rank.sum() == words.by_step.sum() == sum(words.by_kind.values())
    assert words.mean == words.total / 8 <= words.most == words.by_rank.max()
    assert list(words.by_step) == sorted(words.by_step, reverse=True)  # the matrix that is left shrinks


def test_one_rank_receives_nothing() -> None:
    assert linalg.lu(normal(32)).words.total == 0


def test_layers_trade_panels_for_sums() -> None:
    flat, deep = (linalg.lu(normal(128), grid, 4).words.by_kind for grid in ((4, 4, 1), (2, 2, 4)))
    assert flat["columns"] == 0 < deep["columns"]
    assert deep["panels"] < flat["panels"]
