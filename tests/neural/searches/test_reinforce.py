"""REINFORCE: the gradient, the baseline, what the policy learns, and spaces that it refuses."""

import json

import numpy as np
import pytest

import lamcts
from lamcts import testing
from lamcts.neural.searches import reinforce
from lamcts.neural.searches.reinforce import FAILED_ADVANTAGE, MAX_ADVANTAGE, Policy, Reinforce
from lamcts.spaces import Bool, Choice, Finite, Float, Int, Permutation, Simplex, Space, Subset
from lamcts.spaces.parameters import Parameters
from lamcts.testing.search import Search

SPACE = Space({"kind": Choice(list("abc")), "n": Int(1, 5), "rate": Float(0.0, 1.0), "skip": Bool()})
LETTERS = Space({f"letter{i}": Choice(list("abcde")) for i in range(8)})


def log_probability(policy, x, logits):
    """Return the log probability of the options of a point, by the definition."""
    z = policy.parameters.codes(x[None])[0]
    total = 0.0
    for i, shares in enumerate(policy.shares(logits)):
        levels = policy.parameters.levels[i]
        option = int(z[i] * len(shares)) if levels is None else list(levels).index(z[i])
        total += np.log(shares[option])
    return total


def numerical(f, logits, step=1e-6):
    slopes = np.zeros(len(logits))
    for i in range(len(logits)):
        near = [logits.copy(), logits.copy()]
        near[0][i] += step
        near[1][i] -= step
        slopes[i] = (f(near[0]) - f(near[1])) / (2 * step)
    return slopes


def test_the_score_and_the_entropy_slope_are_gradients(monkeypatch):
    monkeypatch.setattr(reinforce, "BINS", 4)
    rng = np.random.default_rng(0)
    policy = Policy(Parameters(SPACE))
    logits = rng.standard_normal(policy.size)
    for x in policy.draw(5, logits, rng):
        wanted = numerical(lambda at, x=x: log_probability(policy, x, at), logits)
        np.testing.assert_allclose(policy.score(x, logits), wanted, atol=1e-7)

    def entropy(at):
        return -sum(shares @ np.log(shares) for shares in policy.shares(at))

    np.testing.assert_allclose(policy.entropy_slope(logits), numerical(entropy, logits), atol=1e-7)


def test_draws_have_the_probabilities_of_the_policy(monkeypatch):
    monkeypatch.setattr(reinforce, "BINS", 4)
    rng = np.random.default_rng(1)
    policy = Policy(Parameters(SPACE))
    logits = rng.standard_normal(policy.size)
    z = policy.parameters.codes(policy.draw(20_000, logits, rng))
    kinds = np.bincount(z[:, 0].astype(int), minlength=3) / len(z)
    np.testing.assert_allclose(kinds, policy.shares(logits)[0], atol=0.015)
    intervals = np.histogram(z[:, 2], bins=4, range=(0, 1))[0] / len(z)
    np.testing.assert_allclose(intervals, policy.shares(logits)[2], atol=0.015)


def test_inactive_parameters_do_not_learn():
    space = Space({"solver": Choice(["sgd", "adam", "lbfgs"]), "nesterov": Bool(when={"solver": "sgd"})})
    policy = Policy(Parameters(space))
    for solver, learns in (("sgd", True), ("adam", False)):
        point = {"solver": solver} | ({"nesterov": True} if learns else {})
        assert policy.score(space.encode(point), np.zeros(policy.size))[3:].any() == learns


def test_the_policy_moves_towards_better_options_and_away_from_failures():
    search = Search(Reinforce(), Space([Choice(list("ab"))] * 6), 0, loss=lambda x: float(x[0]))
    search.go(20, 2)
    progress = search.session.progress
    shares = search.session.policy.shares(progress.logits)
    assert shares[0][0] < 0.3 and all(abs(share[0] - 0.5) < 0.3 for share in shares[1:])
    session = search.session
    assert session.advantage(float("nan")) == FAILED_ADVANTAGE
    assert session.advantage(1e300) == -MAX_ADVANTAGE and np.isfinite(progress.variance)


def test_the_unit_of_the_objective_has_no_effect():
    found = []
    for scale, offset in ((1.0, 0.0), (1024.0, 0.0), (1.0, -8.0)):
        opt = lamcts.Optimizer(LETTERS, sampler=Reinforce(), n_init=4, seed=0)
        for _ in range(40):
            (trial,) = opt.ask()
            opt.tell(trial, scale * sum(value != "c" for value in trial.point.values()) + offset)
        found.append(opt.seen.x.tolist())
    assert found[0] == found[1] == found[2]


def test_it_finds_an_additive_optimum_that_random_search_does_not():
    def loss(point):
        return sum(value != "c" for value in point.values())

    runs = [
        [lamcts.minimize(loss, LETTERS, budget=200, sampler=name, seed=seed).fun for seed in range(3)]
        for name in (Reinforce(), "uniform")
    ]
    assert max(runs[0]) == 0 and min(runs[1]) > 0


def test_a_run_goes_on_from_its_state():
    def told(opt, rounds):
        points = []
        for _ in range(rounds):
            trials = opt.ask(3)
            for trial in trials:
                opt.tell(trial, sum(value != "c" for value in trial.point.values()))
            points += [trial.point for trial in trials]
        return points

    one = lamcts.Optimizer(LETTERS, sampler=Reinforce(), seed=1)
    told(one, 6)
    state = json.loads(json.dumps(one.state_dict()))
    two = lamcts.Optimizer(LETTERS, sampler=Reinforce(), seed=1)
    two.load_state_dict(state)
    assert told(one, 4) == told(two, 4)


def test_it_proposes_every_point_of_a_small_space_once(monkeypatch):
    monkeypatch.setattr(reinforce, "RATE", 5.0)
    search = Search(Reinforce(), Space([Choice(list("abcd"))] * 2), 0, loss=lambda x: float(x[0]))
    search.go(16, 1)
    assert len(np.unique(search.seen.x, axis=0)) == 16


@pytest.mark.parametrize(
    "space", [Space([Permutation(4), Bool()]), Finite([[0.0, 1.0], [2.0, 5.0], [3.0, 3.0]]), Simplex(3), Subset(4, 2)]
)
def test_columns_that_are_not_independent_are_refused(space):
    with pytest.raises(ValueError, match=r"reinforce: expected independent parameters, got a.*use sampler='mutate'"):
        Policy(Parameters(space))


def test_it_keeps_the_contract_of_samplers():
    testing.check_sampler(Reinforce())
