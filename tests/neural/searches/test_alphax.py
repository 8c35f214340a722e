"""AlphaX as a sampler: with the optimizer, its journals, failures and lost trials."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamcts
from lamcts import Canonical, Exhausted, Finite, Int, Optimizer, Space
from lamcts.neural.searches.alphax import AlphaX, BuildCells, BuiltCell, Ridge
from lamcts.neural.searches.alphax.sampler import FIT, RESULT, VISIT
from lamcts.testing import check_sampler
from lamcts.testing.search import Search

GRID = Space({name: Int(0, 4) for name in "abcd"})


def loss(point):
    return sum((value - 3) ** 2 for value in point.values())


def optimizer(space=GRID, seed=0, n_init=5, **settings):
    return Optimizer(space, sampler=AlphaX(**settings), seed=seed, n_init=n_init)


def go(made, rounds, n=3, f=loss):
    """Ask and tell, and return the points asked."""
    asked = []
    for _ in range(rounds):
        trials = made.ask(n)
        asked += [trial.point for trial in trials]
        made.tell(trials, [f(trial.point) for trial in trials])
    return asked


@pytest.mark.dear
@pytest.mark.parametrize("settings", [{}, {"dispatch": "best", "simulations": 2}, {"simulations": 0, "refit": 5}])
def test_the_contract_of_samplers_holds(settings):
    check_sampler(AlphaX(**settings))


@pytest.mark.parametrize("reward", ["rank", "raw"])
@pytest.mark.parametrize("dispatch", ["first", "best"])
def test_the_best_point_is_found_in_a_fraction_of_the_space(reward, dispatch):
    needed = []
    for seed in range(5):
        made = optimizer(seed=seed, reward=reward, dispatch=dispatch, simulations=4, c=0.1 if reward == "rank" else 2.0)
        while not len(made.seen) or made.best.value > 0:
            go(made, 1)
        needed.append(len(made.seen))
    assert np.median(needed) < GRID.size / 4  # half of it by chance


def test_a_resumed_search_goes_on_bit_for_bit():
    first = optimizer(refit=20)
    go(first, 12)
    out = first.ask(4)
    first.tell(out[:2], [None, 1.0])
    second = optimizer(refit=20)
    second.load_state_dict(first.state_dict())
    assert go(first, 10) == go(second, 10)
    (search,), (other,) = (one.state_dict()["searches"].values() for one in (first, second))
    assert json.dumps(search) == json.dumps(other)
    assert sum(entry[0] == FIT for entry in search["log"]) >= 3


def test_a_journalled_run_with_workers_goes_on_where_it_stopped(tmp_path):
    kind = {"sampler": AlphaX(refit=20), "n_init": 5, "seed": 3}
    journal = tmp_path / "run.db"
    for budget in (30, 60):
        lamcts.minimize(loss, GRID, budget=budget, journal=journal, batch=2, **kind)
    whole = lamcts.minimize(loss, GRID, budget=60, batch=2, **kind)
    again = lamcts.minimize(loss, GRID, budget=60, journal=journal, batch=2, **kind)
    assert again.history.x.tolist() == whole.history.x.tolist()
    assert lamcts.minimize(loss, GRID, budget=40, workers=2, executor=ThreadPoolExecutor, **kind).nfev == 40


def test_points_that_are_out_count_as_visits_by_what_is_predicted_of_them():
    search = Search(AlphaX(refit=16), GRID, 0, given=20)
    session = search.session
    out = search.ask(6)
    root = session._tree.root
    visits = [entry for entry in session.log if entry[0] == VISIT]
    assert sum(root.visits) == len(visits) >= 6
    assert sum(root.rewards) == pytest.approx(sum(guess for _, _, guess, _ in visits))
    search.tell(out[:3], [False, True, False])
    told = [(entry, row) for kind, entry, row in session.log[-3:] if kind == RESULT]
    expected = sum(guess for _, _, guess, _ in visits)
    for entry, row in told:
        truth = session._rewards.of(float(search.seen.y[row]))
        expected += (truth + session.log[entry][2]) / 2 - session.log[entry][2]
    assert len(told) == 3 and sum(root.rewards) == pytest.approx(expected) and sum(root.visits) == len(visits)


def test_a_failure_counts_as_the_worst_there_is():
    made = optimizer(seed=1)
    go(made, 8)
    (search,) = made._searches.live.values()
    session = search.session
    before = sum(session._tree.root.rewards)
    (trial,) = made.ask()
    guess = session.log[-1][2]
    made.tell(trial, None)
    assert guess > 0 and sum(session._tree.root.rewards) == pytest.approx(before + guess / 2)


def test_a_small_space_is_handed_out_to_the_last_point():
    made = optimizer(Space({"a": Int(0, 2), "b": Int(0, 1)}), n_init=1)
    points = [tuple(point.values()) for point in go(made, 3, n=2, f=lambda point: 1.0)]
    assert len(set(points)) == 6
    with pytest.raises(Exhausted):
        made.ask()


def test_under_noise_points_come_again():
    made = Optimizer(Space({"a": Int(0, 2)}), sampler=AlphaX(c=0.1), seed=0, n_init=2, repeat=True)
    asked = [point["a"] for point in go(made, 40, n=1, f=lambda point: float(point["a"]))]
    assert asked.count(0) > 15


def test_cells_are_built_for_a_table_of_them():
    found = Finite(CELLS, features=[features(cell) for cell in CELLS])
    settings = {"actions": BuildCells(nodes=4), "refit": 20, "c": 0.1}
    target = BuiltCell((0, 1), ((0, 1), (0, 2), (1, 3), (2, 3)))

    def distance(cell):
        return float(np.abs(features(cell) - features(target)).sum())

    needed = []
    for seed in range(3):
        made = optimizer(found, seed=seed, n_init=1, **settings)
        while not len(made.seen) or made.best.point != target:
            go(made, 1, n=1, f=distance)
        needed.append(len(made.seen))
    assert np.median(needed) < len(CELLS) / 2


def every_cell():
    made = list[BuiltCell]()

    class Noted(BuildCells):
        def point(self, cell):
            made.append(cell)
            return True

    game = Noted(nodes=4).game(lamcts.Bool())
    stack = [game.root]
    while stack:
        state = stack.pop()
        stack += [game.after(state, move) for move in game.moves(state)]
        if not game.moves(state):
            game.row(state, np.random.default_rng(0))
    return sorted(made)


def features(cell):
    x = np.zeros(6 + 2 * 4)
    n = len(cell.operations) + 2
    for i, j in cell.edges:
        x[("01", "02", "12", "03", "13", "23").index(f"{i}{3 if j == n - 1 else j}")] = 1
    for t, kind in enumerate(cell.operations):
        x[6 + 4 * t + kind] = 1
    return x


CELLS = every_cell()


def test_a_space_with_a_key_works_too():
    keyed = Canonical(GRID, lambda point: (point["a"], point["b"]), "a and b")
    made = optimizer(keyed)
    assert len(go(made, 5)) == 15


def test_the_meta_dnn_predicts_where_torch_is_there():
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    from lamcts.neural.metadnn import MetaDnn

    model = MetaDnn(hidden=(16,), epochs=5)
    first, again = optimizer(model=model, refit=10), optimizer(model=model, refit=10)
    points = go(first, 8)
    assert points == go(again, 8)
    assert points != go(optimizer(model=Ridge(), refit=10), 8)


def test_settings_that_make_no_sense_are_refused():
    for given, wrong in [
        ({"dispatch": "last"}, "dispatch: expected one of"),
        ({"reward": "value"}, "reward: expected one of"),
        ({"refit": 0}, "refit: expected a whole number"),
        ({"simulations": -1}, "simulations: expected a whole number"),
    ]:
        with pytest.raises(ValueError, match=wrong):
            AlphaX(**given)


def test_as_published_visits_and_rewards_are_those_of_the_printed_equations():
    made = Optimizer(Space({"a": Int(0, 2), "b": Int(0, 4)}), sampler=AlphaX.published(), seed=1, n_init=2)
    go(made, 12, n=1, f=lambda point: 1 - (point["a"] + point["b"]) / 10)
    (search,) = made._searches.live.values()
    session = search.session
    visits, q = np.zeros(3), np.zeros(3)
    values = {entry: row for kind, entry, *row in session.log if kind == RESULT}
    for i, (kind, *entry) in enumerate(session.log):
        if kind == VISIT:  # (3.4), and (3.5) once its result is known
            (move, *_), guess, _ = entry
            visits[move] += 1
            q[move] += guess if i not in values else (guess - session.seen.y[values[i][0]]) / 2
    assert session.settings.c == 0.5 and sum(kind == FIT for kind, *_ in session.log) == 10
    np.testing.assert_allclose(session._tree.root.visits, visits)
    np.testing.assert_allclose(session._tree.root.rewards, q)
    bound = q / visits + 2 * 0.5 * np.sqrt(2 * np.log(visits.sum()) / visits)  # (3.1)
    assert session._tree.select(0.5, np.random.default_rng(0))[0][0] == int(bound.argmax())
