"""Searches under np.seterr(all="raise"), which users set to find faults of their own functions."""

import numpy as np
import pytest

import lamcts
from lamcts import plot
from tests.extras import samplers

BOX = lamcts.Box(-1, 1, dim=3)
MIXED = {"x": lamcts.Float(1e-6, 1, log=True), "n": lamcts.Int(1, 9), "k": lamcts.Choice(["a", "b", "c"])}
TWO = {"objectives": 2}
HELD = {"constraints": ["g <= 0"]}
KINDS = {
    "one": (BOX, {}),
    "two objectives": (BOX, TWO),
    "constraint": (BOX, HELD),
    "two objectives and constraint": (BOX, TWO | HELD),
    "noisy": (BOX, {"noisy": True}),
    "mixed": (MIXED, {}),
    "mixed, two objectives": (MIXED, TWO),
    "order": (lamcts.Permutation(5), {}),
    "fidelity": (MIXED | {"epochs": lamcts.Fidelity(1, 9)}, {}),
    "fidelity, two objectives": (MIXED | {"epochs": lamcts.Fidelity(1, 9)}, TWO),
    "tiny": (lamcts.Box(-1e-320, 1e-320, dim=2), {}),
    "rule": (lamcts.Valid(BOX, lambda point: point.sum() < 0.5, name="below"), {}),
}
SAMPLERS = samplers("bo", "turbo", "mixed_gp", "quadratic", "coordinate", "gp_cma", "la_mcts", "cma")
PAIRS = [("auto", kind) for kind in KINDS]
PAIRS += [("bo", "two objectives and constraint"), ("turbo", "two objectives"), ("quadratic", "constraint")]
DEAR = [
    pytest.param(*sampler.values, kind, marks=[*sampler.marks, pytest.mark.dear])
    for sampler in SAMPLERS
    for kind in KINDS
]


def told(opt, point):
    """Return a value of a point for the goals of an optimizer; it is computed with numpy's usual errors."""
    with np.errstate(all="ignore"):
        x = opt.space.encode(point)
        found = [float(np.square(x - 0.3).sum()), float(np.square(x - 0.7).sum())][: len(opt.goals.names)]
        return (*found, float(0.4 - x[0])) if opt.goals.constraints else found[0] if len(found) == 1 else tuple(found)


@pytest.mark.parametrize(("sampler", "kind"), [*PAIRS, *DEAR])
def test_no_search_raises_or_proposes_other_points_where_numpy_raises(sampler, kind):
    space, settings = KINDS[kind]
    proposed = []
    for errors in ("raise", "ignore"):
        with np.errstate(all=errors):
            try:
                opt = lamcts.Optimizer(space, sampler=sampler, seed=0, n_init=6, **settings)
            except ValueError as error:
                pytest.skip(str(error))
            for batch in (6, 1, 4, 4, 4, 1):
                trials = opt.ask(batch, left=24 - len(opt.seen))
                opt.tell(trials, [told(opt, trial.point) for trial in trials])
            proposed.append(opt.seen.x)
    assert np.array_equal(*proposed)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_read_from_a_run_raises_where_numpy_raises(kind, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    space, settings = KINDS[kind]
    with np.errstate(all="raise"):
        opt = lamcts.Optimizer(space, sampler="uniform", seed=0, journal=tmp_path / "run.db", **settings)
        for _ in range(6):
            trials = opt.ask(5)
            opt.tell(trials, [told(opt, trial.point) for trial in trials])
        opt.tell_point(trials[0].point, told(opt, trials[0].point))
        opt.correct(3, told(opt, trials[1].point))
        again = lamcts.Optimizer(space, sampler="uniform", seed=0, **settings)
        again.load_state_dict(opt.state_dict())
        again.confirm(), again.rows(), again.predict([trials[0].point]), again.remaining_gain
        found = lamcts.load(tmp_path / "run.db")
        assert repr(found) and found.to_dict() and found.predict([trials[0].point])
        several = len(opt.goals.names) > 1
        assert (found.front.hypervolume() > 0 and found.front.knee()) if several else again.best_predicted
        for figure in (plot.front, plot.hypervolume) if several else (plot.best_so_far, plot.importance, plot.slices):
            assert figure(found)


def test_the_function_and_the_rules_of_the_user_keep_the_users_errors():
    seen = []

    def rule(point):
        seen.append(np.geterr()["under"])
        return True

    def f(point):
        return float(np.exp(-1e3 - point[0] ** 2))

    with np.errstate(all="raise"):
        space = lamcts.Valid(lamcts.Canonical(BOX, lambda x: rule(x) and x.tobytes(), name="same"), rule, name="any")
        found = lamcts.maximize(f, space, budget=4, seed=0, n_init=2)
        assert np.geterr()["under"] == "raise"
    assert found.history.messages[3].startswith("FloatingPointError: underflow") and {*seen} == {"raise"}
