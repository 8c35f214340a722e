import numpy as np
import pytest

from lamcts.samplers import bo
from lamcts.samplers.bo import GpBo
from lamcts.spaces import Box
from lamcts.testing.search import Search

FAST = GpBo()


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let proposals of `GpBo` be quick."""
    monkeypatch.setattr(bo, "CANDIDATES", 100)


SQUARE = Box(0.0, 1.0, dim=2)


def test_it_finds_the_bottom_of_a_bowl_in_a_few_evaluations() -> None:
    search = Search(FAST, SQUARE, seed=0, given=5)
    search.go(15, 1)
    assert np.nanmin(search.seen.y) < 1e-4


def test_it_finds_the_best_of_several_valleys() -> None:
    def branin(x: np.ndarray) -> float:
        a, b = 15 * x[0] - 5, 15 * x[1]
        return float(
            (b - 5.1 * a**2 / (4 * np.pi**2) + 5 * a / np.pi - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a)
        )

    search = Search(FAST, SQUARE, seed=0, given=5, loss=branin)
    search.go(30, 1)
    assert np.nanmin(search.seen.y) < 0.397887 - 10 + 0.02


def test_pending_points_spread_a_batch() -> None:
    search = Search(FAST, SQUARE, seed=0, given=12, loss=lambda x: float(np.sin(12 * x).sum()))
    x = np.array([search.seen.pending[n] for n in [*search.ask(4), *search.ask(4)]])
    gaps = np.linalg.norm(x[:, None] - x[None], axis=-1)[np.triu_indices(8, 1)]
    assert gaps.min() > 2e-3
    assert np.median(gaps) > 0.03


def test_a_shift_of_losses_hardly_moves_the_next_point() -> None:
    plain = Search(FAST, SQUARE, seed=0).go(1, 2)
    other = Search(FAST, SQUARE, seed=0, loss=lambda x: 3.0 * float(np.sum((x - 0.3) ** 2)) - 5.0).go(1, 2)
    assert np.abs(plain - other).max() < 1e-6


@pytest.mark.parametrize("wrong", [{"n_start": -1}, {"n_start": 2.5}])
def test_wrong_settings_say_what_was_expected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"GpBo: .*expected .* got"):
        GpBo(**wrong)  # type: ignore[arg-type]
