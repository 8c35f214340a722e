"""Methods under constraints and on fronts: the budget, the shared start, the same again, and what they are told."""

import random
from contextlib import suppress

import numpy as np
import pytest

from benchmarks.constrained import measured_problems as mp
from benchmarks.harness.measured import MeasuredSearch
from benchmarks.harness.search import Enough
from benchmarks.peers import measured as peers
from benchmarks.peers.measured.remembered import Remembered
from lamcts import Box, Choice, Space

HEAVY = ("optuna gp", "scbo", "qlognehvi")  # they load torch, and take seconds an evaluation
QUICK = [name for name in peers.PEERS if name not in HEAVY]
DESIGNED = ("cobyla", "nsga2 20", "optuna tpe", "optuna nsga2", "lamcts", "lamcts turbo")


class Disc:
    """Two losses on a plane, of which one may be asked for alone, within a disc."""

    name, maximize, x0, optimum, hypervolume = "disc", False, None, 0.5, None
    constraints = ("radius <= 0.8", "x >= 0.1")

    def __init__(self, several):
        self.objectives = {"near": "min", "far": "max"} if several else {"near": "min"}
        self.reference = {"near": 3.0, "far": -1.0}
        self.space = Box(0, 1, dim=2)
        self.asked = []

    def __call__(self, point, *, seed=None):
        self.asked.append(tuple(map(float, point)))
        x, y = map(float, point)
        found = {"near": (x - 0.3) ** 2 + y, "far": x + y, "radius": float(np.hypot(x, y)), "x": x}
        return {name: value for name, value in found.items() if name != "far" or name in self.objectives}


class Letters:
    """Categories with two losses."""

    name, maximize, x0, optimum, hypervolume, constraints = "letters", False, None, None, 1.0, ()
    objectives, reference = {"a": "min", "b": "min"}, {"a": 1.0, "b": 1.0}
    space = Space({f"c{i}": Choice(["u", "v", "w"]) for i in range(4)})

    def __call__(self, point, *, seed=None):
        self.space.encode(point)  # ValueError where it is no point of the space
        return {letter: sum(v == other for v in point.values()) / 4 for letter, other in (("a", "u"), ("b", "v"))}


@pytest.fixture(autouse=True)
def _generators_restored():
    """Some peers seed the global generators: allowed, for each has a process of its own. Put them back."""
    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    yield
    random.setstate(kept[0])
    np.random.set_state(kept[1])  # noqa: NPY002


def run(name, problem, budget=40, seed=3, batch=1):
    if package := peers.missing(name):
        pytest.skip(f"{package} is not installed")
    if why := peers.unfit(name, problem):
        pytest.skip(why)
    search = MeasuredSearch(problem, seed, budget, batch)
    with suppress(Enough):
        peers.load(name)(search)
    return search


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", QUICK)
def test_a_method_keeps_to_the_budget_and_the_same_seed_gives_the_same_points(name, several):
    searches = [run(name, Disc(several), seed=seed) for seed in (3, 3, 4)]
    assert all(len(search.objective.asked) == search.budget == len(search.told) for search in searches)
    first, again, other = (search.objective.asked for search in searches)
    assert first == again != other
    f, g = searches[0].found
    assert f.shape == (40, 1 + several) and g.shape == (40, 2) and searches[0].found.feasible.any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DESIGNED)
def test_methods_that_take_a_start_share_it_at_one_seed(name):
    search = run(name, Disc(False), 20)
    assert search.objective.asked[0] == pytest.approx(tuple(search.design(1)[0]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in QUICK if peers.find(name).discrete])
def test_categories_stay_categories_in_batches_too(name):
    search = run(name, Letters(), 30, batch=3)
    assert not search.left and search.course()[-1] > 0


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", HEAVY)
def test_methods_with_models_of_torch_keep_to_the_budget(name):
    import torch

    with torch.random.fork_rng():
        search = run(name, Disc(name != "scbo"), 14, batch=2)
    assert not search.left and len(set(search.objective.asked)) == 14


def test_the_design_of_a_few_points_begins_that_of_many():
    search = MeasuredSearch(mp.make("g4", 0), 5, 100)
    assert (search.design(20)[:3] == search.design(3)).all() and len(search.design(1)) == 1


def test_a_point_asked_for_twice_is_evaluated_once():
    search = MeasuredSearch(Disc(False), 0, 5)
    told = Remembered(search)
    assert told.loss([0.5, 0.5]) == pytest.approx(0.54) and told.excess([0.5, 0.5]).tolist() == pytest.approx(
        [np.hypot(0.5, 0.5) - 0.8, -0.4]
    )
    assert len(search.told) == 1
    told.loss([-0.5, 2.0])  # outside: put on the border
    assert search.objective.asked[-1] == (0.0, 1.0)


def test_the_course_is_the_best_within_the_constraints_or_their_hypervolume():
    points = [[0.9, 0.9], [0.5, 0.5], [0.3, 0.2], [0.0, 0.0]]  # the first is outside the disc, the last left of 0.1
    one, two = (MeasuredSearch(Disc(several), 0, 4) for several in (False, True))
    for search in (one, two):
        search.at(points)
    assert one.course() == pytest.approx([np.inf, 0.54, 0.2, 0.2])
    lone = (3 - 0.54) * (1 + 1)  # "far" is a maximum: 1 against the reference's -1
    assert two.course() == pytest.approx([0, lone, lone + (0.54 - 0.2) * (0.5 + 1), lone + (0.54 - 0.2) * (0.5 + 1)])


def test_a_method_says_what_it_cannot_be_run_on():
    assert peers.unfit("cobyla", Disc(True)) == "it is for constrained problems"
    assert peers.unfit("lamcts, LaMOO's tree", Disc(False)) == "it is for pareto problems"
    assert peers.unfit("qlognehvi", Letters()) == "it knows no categories" and not peers.unfit("random", Letters())
    with pytest.raises(ValueError, match=r"expected a method out of lamcts, .*, got 'morbo'"):
        peers.find("morbo")
