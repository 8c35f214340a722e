"""Every figure takes a Result, the path of a journal, a Journal or an Optimizer."""

import numpy as np
import pytest

import lamcts
from lamcts.journal import Journal

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

from lamcts import plot
from lamcts.plot.evaluations import evaluations_of
from lamcts.plot.grown_tree import grown_tree
from lamcts.study import Study

SPACE = lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Float(1e-3, 1, log=True)})
TREE = lamcts.LatentTree(leaf_size=8)
SAMPLER = lamcts.samplers.LaMcts(lamcts.samplers.Uniform(), TREE)


def failing(point):
    if point["a"] > 0.7:
        raise ValueError("too far")
    return point["a"] + point["b"]


def sources(folder, f, **goals):
    """Return the same run as an Optimizer, a Result, a path, a Journal and what is read from it."""
    path = folder / "run.db"
    options = {
        "budget": 50,
        "seed": 0,
        "sampler": lamcts.samplers.LaMcts(lamcts.samplers.Uniform(), TREE),
        "progress": False,
    }
    study = Study(f, SPACE, False, journal=path, **options, **goals)
    result = study.solve()
    return [study.optimizer, result, result.history, str(path), Journal.read(path), lamcts.load(path)]


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return sources(tmp_path_factory.mktemp("one"), failing)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    goals = {"objectives": {"cost": "min", "gain": "max"}, "constraints": ["room <= 0.8"]}
    f = lambda point: {"cost": point["a"], "gain": point["b"], "room": point["a"]}  # noqa: E731
    return sources(tmp_path_factory.mktemp("two"), f, **goals)


def columns(run):
    shown = evaluations_of(run)
    return [shown.values, shown.feasible, shown.violation, shown.loss, shown.x, np.array(shown.space.names)]


@pytest.mark.parametrize("which", ["one", "two"])
def test_all_sources_have_the_same_evaluations(which, request):
    expected, *others = map(columns, request.getfixturevalue(which))
    assert len(expected[0]) == 50 and 0 < expected[1].sum() < 50
    for found in others:
        for mine, theirs in zip(expected, found, strict=True):
            np.testing.assert_array_equal(mine, theirs)


ONE = [plot.best_so_far, plot.importance, plot.slices, plot.contours, plot.parameters]
TWO = [plot.front, plot.parallel, plot.hypervolume, plot.violation, plot.importance, plot.parameters]


@pytest.mark.parametrize("draw", ONE, ids=lambda draw: draw.__name__)
def test_figures_of_one_objective_take_every_source(one, draw):
    assert draw(one[ONE.index(draw) % len(one)]).axes  # in turn, as all have the same evaluations


@pytest.mark.parametrize("draw", TWO, ids=lambda draw: draw.__name__)
def test_figures_of_several_objectives_take_every_source(two, draw):
    assert draw(two[TWO.index(draw) % len(two)]).axes


def values(node):
    return [node.value, *(value for kid in node.kids for value in values(kid))]


def test_a_journal_has_the_tree_of_its_optimizer_and_says_whether_it_was_used(one):
    optimizer, result, _, path, record, _ = one
    mine, theirs = (grown_tree(run) for run in (optimizer, path))
    assert len(values(mine.root)) > 2 and values(mine.root) == values(theirs.root)
    assert [step.good for step in mine.selected().steps] == [step.good for step in theirs.selected().steps]
    assert all(map(plot.tree_used, (optimizer, path, record)))
    for run in (optimizer, result, path, record):
        assert plot.partition(run).axes[0].get_yscale() == "log"


def test_the_default_on_real_parameters_uses_no_tree(tmp_path):
    path = tmp_path / "run.db"
    lamcts.minimize(lambda x: float(x @ x), [(-1, 1)] * 2, budget=30, seed=0, journal=path, progress=False)
    assert not plot.tree_used(path)


def test_importance_reports_its_fit_and_warns_where_that_is_low(one):
    rng = np.random.default_rng(0)
    noise = lamcts.minimize(lambda point: rng.random(), SPACE, budget=60, seed=0, sampler="uniform", progress=False)
    captions = [plot.importance(run).get_supxlabel().replace("\n", " ") for run in (one[0], noise)]
    assert ["too low to trust" in caption for caption in captions] == [False, True]
    assert all("leave-one-out R² " in caption for caption in captions)


def test_a_conditional_parameter_without_an_effect_has_no_importance():
    members = {"kind": lamcts.Choice(["a", "b"]), "own": lamcts.Float(0, 1, when={"kind": "a"})}
    members["x"] = lamcts.Float(0, 1)
    how = {"budget": 80, "seed": 0, "sampler": "uniform", "progress": False}
    result = lamcts.minimize(lambda point: float(point["kind"] == "a"), lamcts.Space(members), **how)
    axes = plot.importance(result).axes[0]
    names, widths = [t.get_text() for t in axes.get_yticklabels()], [bar.get_width() for bar in axes.patches]
    assert names[0] == "kind" and widths[0] > 0.95 and widths[names.index("own")] < 0.05
