"""Our search as a searcher of Ray Tune; no cluster runs here."""

import json
import pickle

import numpy as np
import pytest

import lamcts
from lamcts.samplers.nevergrad.method import preserved_globals

with preserved_globals():
    tune = pytest.importorskip("ray.tune", reason="ray is not installed: pip install '.[ray]'")

from lamcts.integrations.ray import LamctsSearch
from lamcts.integrations.ray.search import RayParameters

SPACE = {"x": tune.uniform(-5, 5), "net": {"layers": tune.randint(1, 9), "kind": "mlp"}}
FAST = {"seed": 0, "sampler": "uniform"}


def loss(config):
    return (config["x"] - 1) ** 2 + (config["net"]["layers"] - 3) ** 2


def run(search, n, first=0):
    """Let a search have the next trials, and return their configs."""
    configs = []
    for i in range(first, first + n):
        configs.append(search.suggest(f"t{i}"))
        search.on_trial_result(f"t{i}", {"loss": 99.0, "training_iteration": 1})
        search.on_trial_complete(f"t{i}", {"loss": loss(configs[-1]), "done": True})
    return configs


def begun(space=SPACE, metric="loss", mode="min", **more):
    search = LamctsSearch(**FAST | more)
    assert search.set_search_properties(metric, mode, space)
    return search


@pytest.mark.parametrize(
    ("domain", "signature"),
    [
        (tune.uniform(0, 2), {"kind": "float", "low": 0.0, "high": 2.0, "log": False}),
        (tune.loguniform(1e-3, 10), {"kind": "float", "low": 1e-3, "high": 10.0, "log": True}),
        (tune.randint(2, 9), {"kind": "int", "low": 2, "high": 8, "log": False}),
        (tune.lograndint(1, 1000), {"kind": "int", "low": 1, "high": 999, "log": True}),
        (tune.quniform(-0.3, 0.3, 0.1), {"kind": "float", "low": -0.3, "high": 0.3, "log": False, "step": 0.1}),
        (tune.qrandint(8, 64, 8), {"kind": "int", "low": 8, "high": 64, "log": False, "step": 8}),
        (tune.qrandint(6, 30, 8), {"kind": "int", "low": 8, "high": 24, "log": False, "step": 8}),
        (tune.qrandint(3, 7, 1), {"kind": "int", "low": 3, "high": 6, "log": False}),
        (tune.qlograndint(8, 64, 8), {"kind": "int", "low": 1, "high": 8, "log": True}),
        (tune.choice([64, 16, 32]), {"kind": "choice", "options": [16, 32, 64], "ordered": True}),
        (tune.choice(["a", None, (1, 2)]), {"kind": "choice", "options": ["a", None, [1, 2]], "ordered": False}),
        (lamcts.Bool(), {"kind": "bool"}),
    ],
    ids=lambda one: getattr(one, "domain_str", type(one).__name__),
)
def test_a_domain_is_searched_as_what_it_is_and_its_values_are_rays(domain, signature):
    parameters = RayParameters({"a": {"b": domain}, "c": 3})
    assert parameters.space.signature()["members"] == [signature]
    for x in parameters.space.sample(30, np.random.default_rng(0)):
        point = parameters.space.decode(x)
        config = parameters.config(point)
        assert config.keys() == {"a"} and parameters.point(config | {"c": 3}) == point
        if not hasattr(domain, "encode"):
            assert domain.is_valid(config["a"]["b"])


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"x": 3}, "expected at least one parameter to search"),
        ({"x": tune.randn(0, 1)}, "x: expected a uniform domain or a choice"),
        ({"x": tune.sample_from(lambda config: 3)}, "x: expected a uniform domain or a choice"),
        ({"x": tune.grid_search([1, 2])}, "x: expected a domain to search, got a grid"),
        ({"x": [tune.uniform(0, 1)]}, "x: expected parameters in dicts"),
    ],
)
def test_what_cannot_be_searched_is_told(space, message):
    with pytest.raises(ValueError, match=message):
        begun(space)


def test_it_finds_the_best_and_gives_nested_dicts_without_constants():
    search = LamctsSearch(seed=0)
    search.set_search_properties("loss", "min", SPACE)
    configs = run(search, 30)
    assert min(map(loss, configs)) < 1e-2 and configs[0].keys() == {"x", "net"}
    assert configs[0]["net"].keys() == {"layers"}


def test_a_trial_that_runs_keeps_its_config_and_no_other_gets_it():
    search = begun({"x": tune.choice(["a", "b", "c"])})
    configs = [search.suggest(name) for name in ("p", "q", "p", "r")]
    assert configs[0] == configs[2] and len({config["x"] for config in configs}) == 3
    assert search.suggest("s") == LamctsSearch.FINISHED


def test_what_went_wrong_is_a_failure_and_unknown_trials_are_left_out(caplog):
    search = begun()
    ends = [{"error": True}, {"result": {"loss": np.nan}}, {"result": {"other": 1.0}}, {"result": {"loss": "high"}}]
    ends.append({"result": {"loss": 1.0}, "error": True})
    for i, end in enumerate(ends):
        search.suggest(f"t{i}")
        search.on_trial_complete(f"t{i}", **end)
    assert len(search._search.failures) == len(ends) and not search._search.pending
    run(search, 1, first=9)
    for name in ("never", "t9"):
        search.on_trial_complete(name, {"loss": 0.0})
    assert len(search._search.seen) == len(ends) + 1 and caplog.text.count("is unknown here") == 2


def test_a_trial_that_was_stopped_counts_with_its_last_value_and_one_that_never_ran_is_forgotten():
    search = begun()
    for name in ("stopped", "waiting"):
        search.suggest(name)
    search.on_trial_result("stopped", {"loss": 4.0, "training_iteration": 2})
    for name in ("stopped", "waiting"):
        search.on_trial_complete(name)
    assert search._search.best.value == 4.0 and not search._search.pending and len(search._search.seen) == 1


@pytest.mark.parametrize("early", [True, False], ids=["before the space is known", "after"])
def test_what_was_saved_goes_on_where_it_stopped(tmp_path, early):
    search, other = begun(seed=None), LamctsSearch(sampler="uniform")
    run(search, 12)
    out = search.suggest("out")
    search.on_trial_result("out", {"loss": 2.0})
    search.save(str(tmp_path / "state"))
    assert json.loads((tmp_path / "state").read_text())["trials"] == {"out": 12}
    if early:
        other.restore(str(tmp_path / "state"))
    other.set_search_properties("loss", "min", SPACE)
    if not early:
        other.suggest("gone")
        other.restore(str(tmp_path / "state"))
    assert other.suggest("out") == out
    for one in (search, other):
        one.on_trial_complete("out")
    assert run(search, 3, 20) == run(other, 3, 20)
    assert len(other._search.seen) == 16
    (tmp_path / "other").write_text("{}")
    with pytest.raises(ValueError, match=r"expected what LamctsSearch.save wrote"):
        other.restore(str(tmp_path / "other"))


def test_a_pickled_searcher_goes_on_too():
    search = begun()
    run(search, 11)
    search.suggest("out")
    other = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(search))))
    assert other.suggest("out") == search.suggest("out")
    assert run(other, 2, 20) == run(search, 2, 20)


def test_points_to_evaluate_come_first_and_those_with_rewards_are_known():
    first = [{"x": 1.5, "net": {"layers": 2}}, {"x": 2.5, "net": {"layers": 3, "kind": "mlp"}}]
    configs = run(begun(points_to_evaluate=first), 3)
    assert configs[0] == first[0] and configs[1]["x"] == 2.5
    search = begun(points_to_evaluate=first, evaluated_rewards=[0.1, 7.0])
    assert run(search, 1)[0] not in first and search._search.best.value == 0.1
    search.add_evaluated_point({"x": 0.0, "net": {"layers": 3}}, 0.0)
    search.add_evaluated_point({"x": -1.0, "net": {"layers": 3}}, None, error=True)
    assert search._search.best.point == {"x": 0.0, "net/layers": 3} and len(search._search.failures) == 1
    with pytest.raises(ValueError, match=r"expected a value of 'net/layers'"):
        begun().add_evaluated_point({"x": 1.0}, 0.0)
    with pytest.raises(ValueError, match=r"evaluated_rewards: expected one for each of 2"):
        begun(points_to_evaluate=first, evaluated_rewards=[0.1]).suggest("t")


def test_several_metrics_are_searched_for_their_front():
    search = begun(metric=["loss", "size"], mode=["min", "max"])
    for i in range(12):
        config = search.suggest(f"t{i}")
        search.on_trial_complete(f"t{i}", {"loss": loss(config), "size": config["net"]["layers"] if i else None})
    assert {"loss", "size"} == {*search._search.front[0].values} and len(search._search.failures) == 1


def test_the_greatest_is_sought_where_the_mode_says_so_and_a_space_may_be_given():
    search = LamctsSearch({"x": lamcts.Float(0, 1)}, metric="gain", mode="max", **FAST)
    assert not search.set_search_properties(None, None, {"constant": 3})
    for i in range(9):
        search.on_trial_complete(f"t{i}", {"gain": search.suggest(f"t{i}")["x"]})
    assert search._search.best.value == max(search._search.seen.x[:, 0])


def test_what_is_missing_is_told_as_rays_own_searchers_do():
    with pytest.raises(RuntimeError, match="Trying to sample a configuration from LamctsSearch"):
        LamctsSearch(metric="loss", mode="min").suggest("t")
    with pytest.raises(RuntimeError, match="LamctsSearch"):
        LamctsSearch(SPACE).suggest("t")
    anonymous = LamctsSearch(SPACE, mode="max", **FAST)
    anonymous.suggest("t")
    anonymous.on_trial_complete("t", {"_metric": 3.0})
    assert anonymous._search.best.value == 3.0


def test_a_space_of_ours_may_have_conditions():
    space = {"kind": tune.choice(["a", "b"]), "rate": lamcts.Float(0, 1, when={"kind": "a"})}
    search = begun(space)
    search.add_evaluated_point({"kind": "b"}, 1.0)
    configs = [search.suggest(f"t{i}") for i in range(8)]
    assert {("rate" in config, config["kind"]) for config in configs} == {(True, "a")}  # b is known


def test_a_trial_that_failed_and_runs_again_has_its_value_then(tmp_path):
    search, other = begun(), begun()
    config = search.suggest("t")
    search.on_trial_complete("t", error=True)
    search.save(str(tmp_path / "state"))
    other.restore(str(tmp_path / "state"))
    for one in (search, other):
        one.on_trial_complete("t", {"loss": np.nan})
        one.on_trial_complete("t", {"loss": loss(config)})
        one.on_trial_complete("t", {"loss": -99.0})
        assert one._search.best.value == loss(config) and len(one._search.seen) == 2
