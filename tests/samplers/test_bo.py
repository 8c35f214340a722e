import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.models import local
from lamcts.models.coding import Inputs
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


def test_points_lie_in_the_trust_region_which_grows_after_a_gain_and_begins_again_once_it_is_small() -> None:
    search = Search(GpBo(radius=0.2), Box(0.0, 1.0, dim=6), seed=0, given=8)
    radii = []
    for _ in range(30):
        progress, best = search.session.progress, search.seen.x[search.session.incumbent]  # type: ignore[attr-defined]
        radius, before = progress.radius, progress.incumbent
        x = search.go(1, 3)
        assert np.abs(x - best).max() <= radius + 1e-12
        grown = min(radius * (0.8 if progress.incumbent == before else 1.4), 0.5)
        assert progress.radius == (grown if grown >= 0.02 else 0.2)
        radii.append(progress.radius)
    assert len(set(radii)) > 5


def test_one_point_in_five_of_a_trust_region_minimises_the_posterior_mean() -> None:
    search = Search(GpBo(radius=0.2), Box(0.0, 1.0, dim=4), seed=0, given=12)
    x = np.array([search.seen.pending[number] for number in search.ask(5)])
    session: Any = search.session
    model = session.model.update(session.incumbent, np.random.default_rng(0)).model
    assert model.expect(Inputs.of(x))[:, 0].argmin() == 4


@pytest.mark.parametrize("columns", [{"objectives": 2}, {"constraints": ["b <= 0"]}])
def test_a_trust_region_bears_several_columns(columns: dict[str, Any]) -> None:
    opt = lamcts.Optimizer([(0, 1)] * 3, sampler=GpBo(n_start=2, radius=0.2), seed=0, n_init=1, **columns)
    for _ in range(12):
        (trial,) = opt.ask()
        opt.tell(trial, [float(np.sum(trial.point)), float(0.5 - trial.point[0])])
    assert len(opt.seen) == 12


def test_a_trust_region_is_of_real_parameters_alone() -> None:
    space = lamcts.Space([lamcts.Float(0, 1), lamcts.Choice(["a", "b", "c"]), lamcts.Int(0, 9)])
    search = Search(GpBo(radius=0.05), space, seed=0, given=4)
    search.go(15, 2)
    assert len({tuple(x[1:4]) for x in search.seen.x}) == 3  # each option was tried


def test_a_run_on_a_device_resumes_bit_for_bit_and_begins_as_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    for name, rows in {"MAX_ROWS": 10, "DEVICE_FROM": 20, "DEVICE_ROWS": 30}.items():
        monkeypatch.setattr(local, name, rows)

    def run(opt: lamcts.Optimizer, points: int) -> np.ndarray:
        for _ in range(points):
            (trial,) = opt.ask()
            opt.tell(trial, float(np.sin(3 * np.array(trial.point)).sum()))
        return opt.seen.x

    def new(device: str | None) -> lamcts.Optimizer:
        return lamcts.Optimizer([(0, 1)] * 3, sampler=GpBo(n_start=2, device=device), seed=0, n_init=2)

    whole, half, without = new("cpu"), new("cpu"), run(new(None), 40)
    run(half, 24)
    again = new("cpu")
    again.load_state_dict(json.loads(json.dumps(half.state_dict())))
    assert np.array_equal(run(again, 16), run(whole, 40))
    assert np.array_equal(whole.seen.x[:21], without[:21])
    assert not np.array_equal(whole.seen.x[21:], without[21:])


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "meta", "", 3])
def test_a_device_that_is_not_there_is_refused(device: Any) -> None:
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    with pytest.raises(ValueError, match=r"^GpBo: device: expected a device .*, got .*; None is NumPy on the CPU$"):
        GpBo(device=device)


@pytest.mark.parametrize("absent", ["torch", "gpytorch"])
def test_a_device_without_gpytorch_names_the_extra(absent: str) -> None:
    code = f"import sys; sys.modules[{absent!r}] = None; from lamcts.samplers import GpBo; GpBo(); GpBo(device='cpu')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "MissingExtra" in done.stderr and "'.[torch]'" in done.stderr


@pytest.mark.parametrize("wrong", [{"n_start": -1}, {"n_start": 2.5}, {"radius": 0.0}, {"radius": 0.6}])
def test_wrong_settings_say_what_was_expected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"GpBo: .*expected .* got"):
        GpBo(**wrong)  # type: ignore[arg-type]
