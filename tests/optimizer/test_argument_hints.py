"""An `Optimizer` answers words of other libraries: by its own, or by where they belong."""

import inspect
from types import SimpleNamespace

import pytest

import lamcts
from lamcts.utils.argument_hints import OTHERWISE, OURS, RENAMED, STEPWISE, hint_stepwise

SPACE = lamcts.Box(0, 1, dim=2)
KNOWN = [*inspect.signature(lamcts.Optimizer).parameters]


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("rng", "here it is called 'seed'"),
        ("random_state", "here it is called 'seed'"),
        ("n_startup_trials", "here it is called 'n_init'"),
        ("n_trials", "budget= belongs to a whole run"),
        ("budget", "budget= belongs to a whole run"),
        ("n_jobs", "workers= belongs to a whole run"),
        ("bounds", r"the first argument, and bounds are one: Optimizer\(\[\(low"),
        ("direction", "say maximize=True"),
        ("batch_size", r"opt.ask\(4\)"),
        ("polish", "for gradients call scipy.optimize.minimize"),
        ("catch", "tell exceptions as values"),
        ("timeout", "leave it when the time is over"),
        ("sampeler", "did you mean 'sampler'"),
    ],
)
def test_a_word_that_an_optimizer_does_not_have_is_answered(word, answer):
    with pytest.raises(TypeError, match=f"Optimizer: unknown argument '{word}'; .*{answer}"):
        lamcts.Optimizer(SPACE, **{word: 7})


@pytest.mark.parametrize(
    "dimension", [(2.5, 4e3, "log-uniform"), SimpleNamespace(low=2.5, high=4e3, prior="log-uniform", base=10)]
)
def test_a_list_of_ranges_of_scikit_optimize_is_answered(dimension):
    with pytest.raises(
        ValueError, match=r"write lamcts.Space\(\[lamcts.Int\(3, 9\), lamcts.Float\(2.5, 4000.0, log=True\), \.\.\.\]\)"
    ):
        lamcts.Optimizer([(3, 9), dimension, ("a", "b")])


def test_a_starting_point_in_order_is_answered():
    with pytest.raises(TypeError, match=r"the space in order and options by name, got 2 .*Optimizer\(space, x0="):
        lamcts.Optimizer(SPACE, [0.5, 0.5])


def test_every_foreign_word_has_an_answer_that_names_what_is_there():
    for word in (*OURS, *RENAMED):
        if word not in KNOWN:
            assert hint_stepwise(word, KNOWN), word
    assert not {*STEPWISE} & {*KNOWN} and {*STEPWISE} <= {*RENAMED, *OTHERWISE, "timeout"}


def test_what_is_loaded_has_its_seed_already_and_is_told_what_may_be_given(tmp_path):
    lamcts.Optimizer(SPACE, seed=0).save(tmp_path / "run.db")
    with pytest.raises(TypeError, match=r"Optimizer.load: unknown argument 'rng'; there are space"):
        lamcts.Optimizer.load(tmp_path / "run.db", rng=1)
