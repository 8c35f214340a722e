"""Everything that ships holds the public contracts. A newcomer is one line in its list."""

import importlib.util
from collections.abc import Callable

import numpy as np
import pytest

from lamcts import objectives, pruners, samplers, testing
from lamcts.samplers.bo import GpBo
from lamcts.spaces import (
    Angle,
    Bool,
    Box,
    Canonical,
    Choice,
    Finite,
    Float,
    Int,
    Permutation,
    Simplex,
    Space,
    Subset,
    Valid,
)
from lamcts.spaces.base import SearchSpace
from lamcts.testing.samplers import SPACES as SAMPLED
from lamcts.testing.samplers import a_small_space_is_asked_to_its_last_point
from lamcts.testing.splitters import Splitter
from lamcts.tree import KMeansSvm, Linear

SAMPLERS = ["auto", "uniform", "turbo", "mixed_gp", "mutate", "hillclimb", "quadratic", "coordinate", "bo", "cma"]
SAMPLERS += ["gp_cma", "local_global", "separable", "nevergrad:TwoPointsDE", "nevergrad:CMA"]

SPACES: list[SearchSpace] = [
    Box(-5.0, 10.0, dim=3),
    Box([0.0, -1e9, 1e-9], [1.0, 1e9, 2e-9]),
    Float(0.0, 1.0),
    Float(1e-5, 1e-1, log=True),
    Float(0.0, 1.0, step=0.1),
    Int(0, 5),
    Int(1, 1000, log=True),
    Int(-4, 21, step=5),
    Int(1, 2**60),
    Choice(("relu", "gelu", None)),
    Choice((1, 2, 5), ordered=True),
    Bool(),
    Permutation(4),
    Permutation(("a", None, 3)),
    Permutation(2),
    Space([Permutation(1), Permutation(9), Float(0.0, 1.0)]),
    Angle(360),
    Simplex(2),
    Simplex(("a", "b", "c"), total=250),
    Simplex(3, 10, step=0.5),
    Simplex(4, low=0.1, high=0.4),
    Simplex(("a", "b", "c"), 10, step=0.5, low={"a": 2}, high={"b": 4, "c": 4}),
    Subset(4, 2),
    Subset(("a", None, 3), 3),
    Space({"mix": Simplex(4, 1e-3), "pick": Subset(9, 4), "on": Bool(), "more": Simplex(3, when={"on": True})}),
    Space({"lr": Float(1e-5, 1e-1, log=True), "layers": Int(1, 8), "act": Choice(("relu", "gelu"))}),
    Space([Int(0, 3), Bool(), Box(0.0, 1.0, dim=2)]),
    Space({"inner": Space({"a": Int(0, 2), "b": Bool()}), "c": Choice(("x", "y", "z"))}),
    Finite(np.random.default_rng(0).random((50, 3))),
    Canonical(Space({"a": Int(0, 2), "b": Choice(["x", "y", "z"])}), lambda point: point["a"], "a alone"),
    Valid(Space([Int(0, 3), Box(0.0, 1.0, dim=2)]), lambda point: True, "all"),
    Finite(["a", "b", "c"], features=[[0, 1], [1, 0], [2, 2]]),
]

SPLITTERS: list[Splitter] = [
    KMeansSvm(),
    KMeansSvm(kernel="linear"),
    KMeansSvm(kernel="poly"),
    KMeansSvm(labels="median"),
    KMeansSvm(units="raw"),
    Linear(),
]

OBJECTIVES: dict[str, Callable[[], objectives.Objective]] = {
    "ackley": lambda: objectives.make("ackley", dim=5, shift=0),
    "rosenbrock": lambda: objectives.make("rosenbrock", dim=5, rotate=1),
    "rastrigin": lambda: objectives.make("rastrigin", dim=5),
    "levy": lambda: objectives.make("levy", dim=5, shift="reference"),
    "griewank": lambda: objectives.make("griewank", dim=5, shift=1, rotate=2),
    "schwefel": lambda: objectives.make("schwefel", dim=5, shift=0, rotate=2),
    "styblinski-tang": lambda: objectives.make("styblinski-tang", dim=5, shift=0, rotate=2),
    "michalewicz": lambda: objectives.make("michalewicz", dim=5, shift=0, rotate=2),
    "hartmann6": lambda: objectives.make("hartmann6", shift=0, rotate=2),
    "schaffer, bent": lambda: objectives.make("schaffer", dim=5, rotate=2, bend=1),
    "ackley-constrained": lambda: objectives.make("ackley-constrained", dim=4, shift=0, rotate=2),
    "keane": lambda: objectives.make("keane", dim=10),
    "welded-beam": lambda: objectives.make("welded-beam", permute=1),
    "g11": lambda: objectives.make("g11"),
    "zdt3": lambda: objectives.make("zdt3", shift=0),
    "c2-dtlz2": lambda: objectives.make("c2-dtlz2", objective_count=3, shift=1),
    "branin": lambda: objectives.make("branin", shift=0, rotate=2),
    "memory": lambda: objectives.make("memory", images=1),
    "memory, within a budget": lambda: objectives.make("memory", images=1, within="5MB", again=True),
    "hopper": lambda: objectives.make("hopper", rollouts=1),
    "lunar": lambda: objectives.make("lunar", rollouts=1),
    "lunar, fresh terrains": lambda: objectives.make("lunar", rollouts=1, seeds="fresh"),
    "rover": lambda: objectives.make("rover"),
    "push": lambda: objectives.make("push", noise=0.01),
    "halfcheetah": lambda: objectives.make("halfcheetah", rollouts=2, episode_steps=50),
    "ant": lambda: objectives.make("ant", rollouts=1, episode_steps=50, moments="running"),
    "gym:CartPole-v1": lambda: objectives.make("gym:CartPole-v1", rollouts=2, episode_steps=20),
    "gym:Pendulum-v1": lambda: objectives.make("gym:Pendulum-v1", hidden=4, rollouts=1, episode_steps=20),
}


DEAR = [(name, "conditional") for name in ("auto", "mixed_gp", "bo", "nevergrad:CMA", "nevergrad:TwoPointsDE")]
DEAR += [(name, "mixed") for name in ("auto", "mixed_gp", "bo")]
DEAR += [("nevergrad:CMA", "discrete"), ("nevergrad:TwoPointsDE", "discrete"), ("bo", "discrete")]
DEAR += [("mixed_gp", "box"), ("bo", "box"), ("nevergrad:CMA", "box")]
DEAR_WITH_COLUMNS = ["turbo", "nevergrad:CMA", "nevergrad:TwoPointsDE"]


@pytest.mark.parametrize(
    ("name", "space"),
    [
        pytest.param(name, space, marks=[pytest.mark.dear] if (name, space) in DEAR else [])
        for space in SAMPLED
        for name in SAMPLERS
    ],
)
def test_a_sampler_holds_its_contract(name: str, space: str) -> None:
    extra = name.partition(":")[0]
    # importorskip would import Nevergrad, and that draws from numpy's generator
    if extra in ("cma", "nevergrad") and importlib.util.find_spec(extra) is None:
        pytest.skip(f"needs the package {extra}")
    made = SAMPLED[space]()
    testing.check_sampler(samplers.make(name, made), made)


@pytest.mark.parametrize("space", [Finite(np.random.default_rng(0).random((12, 3))), Finite(np.arange(12)), Int(0, 11)])
@pytest.mark.parametrize("name", [name for name in SAMPLERS if name.partition(":")[0] not in ("cma", "nevergrad")])
def test_a_sampler_asks_a_small_space_to_its_last_point(name: str, space: SearchSpace) -> None:
    a_small_space_is_asked_to_its_last_point(samplers.make(name, space), space, seed=0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.dear] * (name in DEAR_WITH_COLUMNS))
        for name in SAMPLERS
        if name not in ("auto", "mixed_gp", "bo")
    ],
)
def test_a_sampler_holds_its_contract_where_there_are_columns(name: str) -> None:
    extra = name.partition(":")[0]
    if extra in ("cma", "nevergrad") and importlib.util.find_spec(extra) is None:
        pytest.skip(f"needs the package {extra}")
    made = SAMPLED["mixed"]()
    testing.check_columns(samplers.make(name, made), made)


@pytest.mark.dear
def test_gp_bo_holds_its_contract_where_there_are_columns() -> None:
    testing.check_columns(GpBo(), Box(0.0, 1.0, dim=2))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: repr(space)[:40])
def test_a_space_holds_its_contract(space: SearchSpace) -> None:
    testing.check_space(space)


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_a_splitter_holds_its_contract(splitter: Splitter) -> None:
    testing.check_splitter(splitter)


@pytest.mark.parametrize("name", pruners.NAMES)
def test_a_pruner_holds_its_contract(name: str) -> None:
    testing.check_pruner(pruners.NAMES[name]())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_holds_its_contract(name: str) -> None:
    package = objectives.entry(name.partition(",")[0]).package
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    testing.check_objective(OBJECTIVES[name]())


def test_a_program_holds_the_contract_of_objectives() -> None:
    space = Space({"a": Float(0.0, 1.0), "n": Int(1, 8)})
    testing.check_objective(objectives.Command("echo {n} {a}", space, x0={"a": 0.5, "n": 2}))
    testing.check_objective(objectives.Command("echo {n} {a} {seed}", space, maximize=True))


def test_a_function_by_name_holds_the_contract_of_objectives() -> None:
    testing.check_objective(objectives.Function.of("math:prod", Box(-5.0, 10.0, dim=3)))
