"""Our search as a generation node of Ax."""

import logging
import warnings

import numpy as np
import pytest

import lamcts
from lamcts.samplers.nevergrad.method import kept_globals

with kept_globals(), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what Ax imports
    pytest.importorskip("ax.api", reason="ax is not installed: pip install '.[ax]'")
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
    from ax.core.parameter import ParameterType, RangeParameter
    from ax.exceptions.core import SearchSpaceExhausted
    from ax.generation_strategy.generation_strategy import GenerationStrategy

    from lamcts.integrations.ax import LamctsNode

pytestmark = pytest.mark.filterwarnings("ignore")
FAST = {"seed": 0, "sampler": "uniform"}
REAL = {"parameter_type": "float"}
X, Y = RangeParameterConfig(name="x", bounds=(-5, 5), **REAL), RangeParameterConfig(name="y", bounds=(-5, 5), **REAL)
RATE = RangeParameterConfig(name="rate", bounds=(1e-3, 1), scaling="log", **REAL)
COUNT = RangeParameterConfig(name="count", bounds=(1, 8), parameter_type="int")
KIND = ChoiceParameterConfig(name="kind", values=["a", "b", "c"], parameter_type="str", is_ordered=False)


@pytest.fixture(autouse=True)
def _apart():
    """Ax draws from the global generators, and says what it does."""
    logging.disable(logging.INFO)
    import torch

    with kept_globals(), torch.random.fork_rng():
        yield
    logging.disable(logging.NOTSET)


def client_of(parameters, objective="-loss", held=None, rules=None, **settings):
    client, node = Client(random_seed=0), LamctsNode(**FAST | settings)
    client.configure_experiment(parameters, parameter_constraints=rules)
    client.configure_optimization(objective, outcome_constraints=held)
    client.set_generation_strategy(GenerationStrategy(name="lamcts", nodes=[node]))
    return client, node


def updated(client, node):
    node.update_generator_state(client._experiment, client._experiment.lookup_data())
    return node._search


def test_a_whole_loop_finds_the_best():
    client, node = client_of([X, Y, COUNT], sampler="auto")
    for _ in range(20):
        for index, p in client.get_next_trials(2).items():
            client.complete_trial(index, {"loss": (p["x"] - 1) ** 2 + p["y"] ** 2 + (p["count"] - 3) ** 2})
    best, values, *_ = client.get_best_parameterization(use_model_predictions=False)
    assert best["count"] == 3 and values["loss"][0] < 1e-2
    assert len(updated(client, node).seen) == 40 and not node._search.pending


def test_parameters_are_searched_as_what_they_are():
    fixed = ChoiceParameterConfig(name="one", values=["z"], parameter_type="str")
    client, node = client_of([X, RATE, COUNT, KIND, fixed])
    index, point = next(iter(client.get_next_trials(1).items()))
    kinds = [member["kind"] for member in node._search.space.signature()["members"]]
    assert kinds == ["float", "float", "int", "choice", "choice"]
    assert [member.get("log") for member in node._search.space.signature()["members"][:3]] == [False, True, False]
    assert point["one"] == "z" and index == 0


def test_dependents_and_parameter_constraints_are_kept():
    kind = ChoiceParameterConfig(
        name="kind", values=["a", "b", "c"], parameter_type="str", dependent_parameters={"a": ["rate"]}
    )
    client, node = client_of([X, RATE, COUNT, kind], rules=["x + 2*count <= 8"])
    for index, point in client.get_next_trials(12).items():
        assert ("rate" in point) == (point["kind"] == "a") and point["x"] + 2 * point["count"] <= 8
        client.complete_trial(index, {"loss": point["x"]})
    assert len(updated(client, node).seen) == 12 and not node._search.pending


def test_what_came_of_trials_is_told_as_what_it_is():
    client, node = client_of([X, Y])
    for index in client.get_next_trials(4):
        if index == 0:
            client.mark_trial_failed(index)
        elif index == 1:
            client.mark_trial_abandoned(index)
        elif index == 2:
            for step, value in ((1, 9.0), (3, 5.0), (2, 7.0)):
                client.attach_data(index, {"loss": value}, progression=step)
            client.mark_trial_early_stopped(index)
    client.complete_trial(client.attach_trial({"x": 1.0, "y": 0.0}), {"loss": 2.0})
    search = updated(client, node)
    assert search.best.value == -2.0 and search.best.point == {"x": 1.0, "y": 0.0}
    assert sorted(np.nan_to_num(search.seen.y, nan=99).tolist()) == [2.0, 5.0, 99.0]
    assert len(search.failures) == 1 and len(search.pending) == 1
    before = len(search.seen)
    assert len(updated(client, node).seen) == before


def test_constraints_weights_and_several_objectives_are_taken():
    client, node = client_of([X], "-loss + 2*gain", held=["size <= 3", "weight >= 0"])
    client.complete_trial(client.attach_trial({"x": 1.0}), {"loss": 1.0, "gain": 2.0, "size": 4.0, "weight": 1.0})
    client.complete_trial(client.attach_trial({"x": 2.0}), {"loss": 5.0, "gain": 2.0, "size": 3.0, "weight": 1.0})
    client.mark_trial_failed(client.attach_trial({"x": 3.0}))
    search = updated(client, node)
    assert search.best.point == {"x": 2.0} and search.best.value == -1.0 and search.best.feasible
    client, node = client_of([X], "-loss, gain")
    for x in (1.0, 2.0, 3.0):
        client.complete_trial(client.attach_trial({"x": x}), {"loss": x, "gain": min(x, 2.0)})
    assert sorted(one.point["x"] for one in updated(client, node).front) == [1.0, 2.0]


def test_an_experiment_that_was_loaded_goes_on_and_a_finite_space_ends():
    client, node = client_of([KIND])
    for index in client.get_next_trials(2):
        client.complete_trial(index, {"loss": float(index)})
    node = LamctsNode(**FAST)
    client.set_generation_strategy(GenerationStrategy(name="later", nodes=[node]))
    assert len(client.get_next_trials(1)) == 1 and len(node._search.seen) == 2
    with pytest.raises(SearchSpaceExhausted):
        node.get_next_candidate([])


def loaded(client, path):
    """Return a client that was saved, as a new process loads it, and its node."""
    client.save_to_json_file(path)
    again = Client.load_from_json_file(path)
    return again, again._generation_strategy._nodes[-1]


@pytest.mark.parametrize(
    "settings",
    [
        {"seed": None},
        {"sampler": "turbo", "n_init": 3},
        {"sampler": lamcts.samplers.LaMcts(lamcts.samplers.Turbo(n_start=4), lamcts.LatentTree(leaf_size=5))},
    ],
)
def test_a_client_that_was_loaded_proposes_what_the_saved_one_would_have_proposed(tmp_path, settings):
    client, node = client_of([X, RATE, COUNT], "-loss", held=["size <= 3"], **settings)
    for index, p in client.get_next_trials(7).items():
        if index % 2:  # the others are running when the client is saved
            loss = round(p["x"] ** 2 + p["count"], 6)  # Ax writes ten decimals of a result
            client.complete_trial(index, {"loss": loss, "size": round(p["rate"], 6)})
    again, copy = loaded(client, str(tmp_path / "ax.json"))
    for _ in range(2):
        for one in (client, again):
            for index in list(one._experiment.running_trial_indices):
                one.complete_trial(index, {"loss": float(index), "size": 2.0})
        points = client.get_next_trials(2)
        assert again.get_next_trials(2) == points and len(points) == 2
    assert copy._settings == node._settings and len(copy._search.seen) == len(node._search.seen) == 9


def test_a_client_is_saved_before_its_first_trial_and_again_after_it_was_loaded(tmp_path):
    client, _ = client_of([X, Y])
    first = loaded(loaded(client, str(tmp_path / "a.json"))[0], str(tmp_path / "b.json"))[0]
    assert first.get_next_trials(3) == client.get_next_trials(3)
    second = loaded(loaded(client, str(tmp_path / "c.json"))[0], str(tmp_path / "d.json"))[0]
    assert second.get_next_trials(2) == client.get_next_trials(2)


def test_a_sampler_of_the_user_is_refused_where_a_client_is_saved(tmp_path):
    class Own(lamcts.samplers.Turbo):
        pass

    client, _ = client_of([X], sampler=Own())
    with pytest.raises(ValueError, match=r"sampler: expected one of lamcts in a node that is saved, got .*: give its"):
        client.save_to_json_file(str(tmp_path / "ax.json"))


def test_what_cannot_be_searched_is_told():
    client, node = client_of([X])
    space = client._experiment.search_space
    space.add_parameter(RangeParameter("d", ParameterType.FLOAT, 0.0, 1.0, digits=2))
    with pytest.raises(ValueError, match="d: expected a linear or log scale without digits"):
        updated(client, node)
    client, node = client_of([X])
    client._experiment._optimization_config = None
    with pytest.raises(ValueError, match="expected an experiment with an objective"):
        updated(client, node)
