"""Every installed peer keeps the rules of a run: x0 first, inside the box, the whole budget, the same again."""

import random
import sys
from contextlib import suppress

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.harness.search import Enough, Search
from benchmarks.peers import reference
from lamcts import Box
from lamcts.objectives.control.mujoco import gait
from lamcts.samplers.turbo import Turbo
from lamcts.tree import LatentTree

HEAVY = ("optuna gp", "botorch", "smac")  # seconds a run: once, small
GLOBAL = ("dual annealing", "botorch")  # draws from torch's or SciPy's own generators, in a process of its own


class Bowl:
    """A bowl with an own start."""

    name, maximize, optimum = "bowl", True, 0.0

    def __init__(self, x0=None, dim=3):
        self.space, self.x0 = Box(-2, 4, dim=dim), x0
        self.asked = []

    def __call__(self, point, *, seed=None):
        self.asked.append((np.array(point), seed))
        return -float(np.sum((np.asarray(point) - 1.0) ** 2))


def go(name, x0=None, budget=24, seed=3):
    objective = Bowl(x0)
    search = Search(objective, seed, budget, batch=4)
    with suppress(Enough):
        peers.load(name)(search)
    return objective, search


@pytest.fixture
def _generators_restored():
    """Some peers seed the global generators: allowed, for each has a process of its own. Put them back."""
    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    yield
    random.setstate(kept[0])
    np.random.set_state(kept[1])  # noqa: NPY002


NAMES = [*(name for name in (*peers.PEERS, *peers.PLAIN) if not name.startswith("reference")), "lamcts cma, no tree"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_generators_restored")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in HEAVY])
def test_a_peer_keeps_the_rules(name):
    if package := peers.missing("cma" if name == "lamcts cma, no tree" else name):
        pytest.skip(f"{package} is not installed")
    start = np.array([0.5, 3.0, -1.0])
    objective, search = go(name, start)
    assert np.allclose(objective.asked[0][0], start)
    points = np.array([point for point, _ in objective.asked])
    assert len(points) == len(search.values) == 24 and search.left == 0
    assert ((points >= -2) & (points <= 4)).all()
    assert len({seed for _, seed in objective.asked}) == 24
    assert search.improved[-1][1] == max(-value for value in search.values)
    again, _ = go(name, start)
    assert np.array_equal(points, [point for point, _ in again.asked])
    assert len(go(name)[0].asked) == 24  # without a start of its own


@pytest.mark.parametrize("name", ["sobol", "cma", "voo", "differential evolution", "powell", "lamcts portfolio, tree"])
def test_methods_that_take_given_points_start_from_the_same(name):
    if package := peers.missing(name):
        pytest.skip(f"{package} is not installed")
    reference = [point for point, _ in go("sobol", budget=10)[0].asked]
    assert np.allclose([point for point, _ in go(name, budget=10)[0].asked], reference)


def test_a_search_refuses_another_first_point():
    search = Search(Bowl(np.zeros(3)), 0, 5)
    with pytest.raises(RuntimeError, match="own start"):
        search(np.zeros(3))


def test_a_search_ends_at_its_budget_and_puts_points_inside():
    objective = Bowl()
    search = Search(objective, 0, 2)
    assert search([-1, 0.5, 2]) == pytest.approx(9 + 0 + 9)
    search([0.5, 0.5, 0.5])
    with pytest.raises(Enough):
        search([0.5, 0.5, 0.5])
    assert search.improved == [(1, -18.0), (2, 0.0)]


def test_soo_cuts_the_best_leaf_of_each_depth():
    objective, _ = go("soo", budget=5)
    points = [point.tolist() for point, _ in objective.asked]
    # The root at the box's centre, its thirds along the first side, then the middle third along the second.
    assert points == [[1, 1, 1], [-1, 1, 1], [3, 1, 1], [1, -1, 1], [1, 3, 1]]


def test_names_of_ours_carry_sampler_and_tree():
    assert peers.find("lamcts cma, no tree").settings == {"sampler": "cma", "tree": None}
    assert peers.find("lamcts nevergrad:DE, tree").settings == {"sampler": "nevergrad:DE", "tree": LatentTree()}
    assert peers.find("lamcts turbo, fenced").settings == {"sampler": Turbo(scope="incumbent")}
    with pytest.raises(ValueError, match="expected a method, got 'lamcts nonsense, tree'"):
        peers.find("lamcts nonsense, tree")


@pytest.mark.parametrize(("name", "drawn"), [("reference TuRBO-1", 6), ("reference LaMCTS-TuRBO", 40)])
def test_a_predecessor_is_called_as_its_authors_say(name, drawn, tmp_path, monkeypatch):
    # Stand-ins with the predecessors' signatures: they draw their initial points uniformly and go on for ever.
    (tmp_path / "turbo").mkdir()
    (tmp_path / "turbo" / "__init__.py").write_text(STAND_IN)
    (tmp_path / "reference_lamcts.py").write_text("from turbo import MCTS")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAMCTS_REFERENCE", str(tmp_path))
    monkeypatch.setattr(reference, "seed_globals", lambda seed: None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in ("turbo", "reference_lamcts"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    objective, _ = go(name, np.array([0.5, 3.0, -1.0]), budget=60)
    points = np.array([point for point, _ in objective.asked])
    assert len(points) == 60 and np.allclose(points[0], [0.5, 3.0, -1.0])
    assert (points[1 : drawn + 1].min(0) < -1).any() and (points.max(0) > 3).any()  # the objective's own box
    assert sys.modules["turbo"].initial == drawn


STAND_IN = """
import numpy as np
initial = 0


class Turbo1:
    def __init__(self, f, lb, ub, n_init, max_evals, batch_size=1, verbose=True):
        self.f, self.lb, self.ub, self.n_init = f, lb, ub, n_init

    def optimize(self):
        global initial
        initial = self.n_init
        rng = np.random.default_rng(0)
        while True:
            self.f(self.lb + rng.random(len(self.lb)) * (self.ub - self.lb))


class MCTS:
    def __init__(self, lb, ub, dims, ninits, func, Cp=1, leaf_size=20, kernel_type="rbf"):
        assert dims == func.dims and (func.lb == lb).all() and (func.ub == ub).all()
        self.inner = Turbo1(func, lb, ub, ninits, 0)

    def search(self, iterations):
        assert self.solver_type == "turbo"
        self.inner.optimize()
"""


def test_points_that_are_given_together_count_one_by_one():
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'lamcts[mujoco]'")
    objective = gait("Hopper-v5", episode_steps=30)
    points = [objective.x0, *np.random.default_rng(0).uniform(-1, 1, (5, 33))]
    one, all_at_once = Search(objective, 3, 4), Search(objective, 3, 4)
    for point in points[:4]:
        one.point(point)
    with pytest.raises(Enough):  # after the four that the budget allows
        all_at_once.evaluate_all(points)
    assert all_at_once.values == one.values and len(one.values) == len(all_at_once.own) == 4
    assert all_at_once.improved == one.improved and not all_at_once.left
    with pytest.raises(Enough):
        all_at_once.evaluate_all(points)
