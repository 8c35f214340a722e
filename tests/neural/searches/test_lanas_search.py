from copy import copy, deepcopy

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Regression
from sklearn.preprocessing import StandardScaler

import lamcts
from lamcts import testing
from lamcts.journal import Journal
from lamcts.neural.searches import lanas
from lamcts.neural.searches.alphax import Ridge
from lamcts.outcomes.observations import Observations
from lamcts.samplers import LocalGlobal
from lamcts.tree.select import upper_bound

DIGITS = lamcts.Space({f"layer{i}": lamcts.Choice((0, 1, 2)) for i in range(8)})


def value(point):
    """Return 100 at all twos, less where layers are smaller, the first ones most."""
    return 100 - sum((2 - point[f"layer{i}"]) * (8 - i) for i in range(8))


def run(evaluations, **settings):
    opt = lamcts.Optimizer(DIGITS, maximize=True, seed=0, **settings)
    for _ in range(evaluations):
        (trial,) = opt.ask()
        opt.tell(trial, value(trial.point))
    return opt


@pytest.mark.parametrize("model", [None, Ridge()], ids=["drawn", "chosen"])
def test_draws_in_a_leaf_keep_the_contract_of_samplers(model):
    testing.check_sampler(lanas.Leaf(model=model, refit=10, candidates=50))


def test_leaves_of_different_settings_in_one_run_each_have_their_own_model():
    drawn, chosen = lanas.Leaf(refit=10), lanas.Leaf(model=Ridge(), refit=10)
    opt = run(40, sampler=LocalGlobal(drawn, chosen, warm_up=20))
    (mine,), (other,) = ([*leaf._runs.values()] for leaf in (drawn, chosen))
    assert mine._fitted_rows == 0 < other._fitted_rows
    assert len(opt.ask(4)) == 4


def test_the_published_settings_are_those_of_the_thesis():
    opt = lamcts.Optimizer(DIGITS, maximize=True, **lanas.published())
    tree = opt.sampler.tree
    assert (tree.height, tree.refit, opt.n_init, tree.values) == (8, 50, 200, "raw")
    # (4.3) with c = 10, a tenth of the largest value, against the bound that the tree has
    assert 2 * tree.cp * np.sqrt(2) == pytest.approx(10.0)


@pytest.mark.parametrize("settings", [lanas.improved, lanas.published])
def test_initial_points_are_at_most_a_quarter_of_a_known_budget_and_rounds_a_quarter_of_these(settings, tmp_path):
    f, words = lamcts.objectives.make("digits4096"), {"seed": 0, "journal": tmp_path / "run.db"}
    lamcts.maximize(f, budget=40, **words, **settings())
    design, sampler = (Journal.read(tmp_path / "run.db").fingerprint[name] for name in ("design", "sampler"))
    assert design["n_init"] == 10 and sampler["tree"]["refit"] == sampler["inner"]["refit"] == 2
    again = lamcts.maximize(f, budget=60, **words, **settings())  # it goes on with the same rounds
    assert len(again.history) == 60 and again.history.trial[:40].tolist() == [*range(40)]


def test_numbers_that_are_given_stay():
    given = lanas.improved(first=30, selects=11)
    opt = lamcts.Optimizer(DIGITS, **given)
    assert (opt.n_init, opt.sampler.tree.refit, opt.sampler.inner.refit) == (30, 11, 11)
    assert lamcts.Optimizer(DIGITS, **lanas.improved(selects=11)).n_init == 200
    assert lamcts.Optimizer(DIGITS, n_init=20, **lanas.improved()).sampler.tree.refit == 5


def test_splits_values_and_bounds_are_those_of_the_printed_algorithm():
    x = np.random.default_rng(0).random((200, 6))
    y = 90 + x @ np.arange(6) - np.square(x[:, 0])
    seen = Observations(6)
    seen.append(x, -y, np.full(200, np.nan), np.full(200, -1), np.full(200, -1))
    tree = lanas.published(selects=50)["sampler"].tree
    node, rows = tree.incremental(lamcts.Box(0, 1, dim=6), seen).root(), np.arange(200)
    while len(rows) > 24:
        assert node.value == pytest.approx(y[rows].mean()) and node.visits == len(rows)
        z = StandardScaler().fit_transform(x[rows])
        predicted = Regression(alpha=0.1 * len(rows)).fit(z, y[rows]).predict(z)  # eqs. 4.1 and 4.2, our penalty
        good = predicted >= y[rows].mean()
        assert node.kids[0].rows.tolist() == rows[good].tolist() and node.kids[1].rows.tolist() == rows[~good].tolist()
        bound = y[rows[good]].mean() + 10 * np.sqrt(np.log(len(rows)) / good.sum())  # (4.3), c = 10
        assert upper_bound(node, node.kids[0], tree.cp) == pytest.approx(bound)
        node, rows = node.kids[0], rows[good]


def test_the_tree_is_learned_anew_after_so_many_selects_and_not_between():
    opt = run(149, **lanas.published(first=100, selects=50))
    (trial,) = opt.ask()
    (search,) = opt._searches.live.values()
    tree = search.session._tree
    before = tree.root().split
    opt.tell(trial, value(trial.point))
    assert tree.root().split is not before
    (again,) = opt.ask()
    after = tree.root().split
    opt.tell(again, value(again.point))
    assert tree.root().split is after


def test_it_finds_the_best_of_a_sum_in_a_sixteenth_of_the_space_where_random_draws_do_not():
    settings = lanas.published(first=100, selects=20, share=0.02)
    assert run(400, **settings).best.value == 100
    assert run(400, **settings | {"sampler": settings["sampler"].inner}).best.value < 100


def test_the_model_chooses_the_best_predicted_of_the_draws():
    opt = run(101, **lanas.improved(first=100))
    assert opt.seen.y[100] < np.quantile(opt.seen.y[:100], 0.02)  # losses


def test_what_is_known_takes_no_place_among_the_candidates():
    space = lamcts.Space({name: lamcts.Choice(range(15)) for name in "ab"})
    sampler = lanas.Leaf(model=Ridge(), candidates=5)
    opt = lamcts.Optimizer(space, seed=0, n_init=20, sampler=sampler)
    for count in range(225):
        (trial,) = opt.ask()
        # -1: of the design, or a draw of anywhere, as the leaf had no new point to give
        assert (trial.session == -1) == (count < 20), f"after {count} results"
        opt.tell(trial, float(trial.point["a"] + trial.point["b"]))


def selected(opt):
    """Return the region that the next ask searches."""
    (search,) = opt._searches.live.values()
    session = copy(search.session)
    session.progress = deepcopy(session.progress)
    session.move(opt.region())
    return session._selected()


def test_points_lie_in_the_region_that_was_selected_while_it_has_any_that_are_new():
    opt = run(200, **lanas.published(first=100, selects=50, height=5))
    every, inside = DIGITS.rows(), 0
    for _ in range(40):
        region = selected(opt)
        new = (region.contains(every) & opt.seen.unseen(every)).any()
        (trial,) = opt.ask()
        assert len(region.steps) > 2 and region.contains(trial.x[None])[0] == new
        inside += new
        opt.tell(trial, value(trial.point))
    assert inside > 5


def test_it_goes_on_bit_for_bit_from_a_file(tmp_path):
    settings = lanas.published(first=100, selects=50, model=Ridge())
    opt = run(170, **settings)
    opt.save(tmp_path / "run.npz")
    again = lamcts.Optimizer.load(tmp_path / "run.npz")
    for _ in range(60):
        (one,), (two,) = opt.ask(), again.ask()
        np.testing.assert_array_equal(one.x, two.x)
        opt.tell(one, value(one.point))
        again.tell(two, value(two.point))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"largest": 0.0}, "largest value above 0"),
        ({"selects": 0}, "selects"),
        ({"height": 0}, "height of at least 1"),
    ],
)
def test_bad_settings_say_what_was_expected(settings, message):
    with pytest.raises(ValueError, match=message):
        lanas.published(**settings)
