import numpy as np
import pytest

import lamcts
from lamcts.neural import nas
from lamcts.neural.train import (
    Recipe,
    TrainObjective,
    TransferObjective,
    digits,
    from_datasets,
    load_network,
    save_network,
)

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.utils.data import IterableDataset, TensorDataset  # noqa: E402

from lamcts.neural.build import NetworkFactory, build  # noqa: E402
from lamcts.neural.build.sizes import size  # noqa: E402
from lamcts.neural.proxies import ProxyObjective  # noqa: E402

SPACE = lamcts.Space({"width": lamcts.Int(4, 64), "act": lamcts.Choice(("relu", "tanh"))})
POINT = {"width": 5, "act": "relu"}


def mlp(point):
    layer = nn.ReLU() if point["act"] == "relu" else nn.Tanh()
    return nn.Sequential(nn.Flatten(), nn.Linear(64, point["width"]), layer, nn.Linear(point["width"], 10))


FACTORY = NetworkFactory(SPACE, mlp)


def weights(net):
    return torch.cat([each.detach().flatten() for each in net.parameters()])


def test_a_network_has_the_weights_of_its_seed_and_the_global_generator_is_untouched():
    state = torch.get_rng_state()
    one, same, other = (weights(build(FACTORY, POINT, seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(one, same) and not torch.equal(one, other) and torch.equal(torch.get_rng_state(), state)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert torch.equal(one, weights(mlp(POINT)))  # its own initial weights, not those of lamcts


def test_networks_of_a_function_are_trained_searched_and_costed(tmp_path):
    f = TrainObjective(FACTORY, digits(), Recipe(epochs=2), folder=tmp_path / "trained")
    result = lamcts.maximize(f, f.space, budget=4, seed=0)
    width = result.x["width"]
    params, flops = 64 * width + width + 10 * width + 10, 2 * (64 * width + 10 * width)
    cost = f.cost(result.x)
    assert (cost["params"], cost["mflops"]) == (params, flops / 1e6) and "operations" not in cost
    assert f.report(result.x)["valid_accuracy_percent"] == result.fun > 10
    assert f.train(result.x, seed=3).valid_accuracy == f.train(result.x, seed=3).valid_accuracy


def test_a_saved_network_needs_its_function_to_load(tmp_path):
    f = TrainObjective(FACTORY, digits(), Recipe(epochs=1), folder=tmp_path / "trained")
    trained = f.train(POINT).net
    card = save_network(tmp_path / "net.npz", f, POINT)
    assert card["point"] == POINT and card["space"] == {"kind": "NetworkFactory", "settings": {}}
    net, again = load_network(tmp_path / "net.npz", mlp)
    assert again == card and torch.equal(weights(net), weights(trained))
    with pytest.raises(ValueError, match="expected function=, the function that built"):
        load_network(tmp_path / "net.npz")


def test_another_function_is_another_objective_to_a_journal():
    f, other = (
        TrainObjective(NetworkFactory(SPACE, mlp, name), digits(), Recipe()) for name in ("a.py:mlp", "b.py:mlp")
    )
    assert f.fingerprint() != other.fingerprint() and FACTORY.name == "mlp"


def test_weights_are_inherited_by_networks_of_a_function(tmp_path):
    f = TransferObjective(FACTORY, digits(), Recipe(epochs=4), folder=tmp_path)
    assert [len(f.train(point).epochs) for point in (POINT, POINT | {"act": "tanh"})] == [4, 1]


def test_networks_of_a_function_are_scored_by_proxies():
    f, wide = ProxyObjective(FACTORY, digits(), "naswot", examples=8), POINT | {"width": 64}
    assert np.isfinite(list(f.report(wide).values())).all() and f(wide) == f.report(wide)["naswot"]
    with pytest.raises(RuntimeError, match="take fewer than 64 examples"):
        ProxyObjective(FACTORY, digits(), "naswot")(POINT)  # five ReLUs


def test_numbers_that_are_no_images_have_sizes_too():
    factory = NetworkFactory(lamcts.Space({"width": lamcts.Int(1, 3)}), lambda point: nn.Linear(7, point["width"]))
    assert size(factory, {"width": 3}, (7,), 3, integers=False) == (24, 42)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: NetworkFactory(lamcts.Box([0.0], [1.0]), mlp), "expected a space whose points are dicts"),
        (lambda: NetworkFactory(SPACE, 3), "expected a function of a point, got int"),
        (lambda: NetworkFactory(SPACE, lambda point: None).network(POINT, 0), "Module, got NoneType; return the"),
        (lambda: NetworkFactory(SPACE, lambda point: nn.ReLU()).network(POINT, 0), "a network with parameters"),
        (lambda: build(FACTORY, POINT, width=3), "expected no sizes of mlp, got width"),
        (lambda: build(nas.NasBenchMacro(), {}), "expected a space whose networks can be built"),
    ],
)
def test_mistakes_of_a_factory_are_reported_with_their_cure(make, told):
    with pytest.raises(ValueError, match=told):
        make()


# Data sets ------------------------------------------------------------------------------------------------------------


def dataset(n, classes=2):
    return TensorDataset(torch.rand(n, 1, 4, 4), torch.arange(n) % classes)


@pytest.fixture(autouse=True)
def _restored_generator():
    with torch.random.fork_rng():
        yield


def test_data_sets_of_torch_are_read_into_memory():
    sets = dataset(6, 3), dataset(4), dataset(2)
    data = from_datasets(*sets, name="mine")
    assert (data.name, data.classes, data.shape) == ("mine", 3, (1, 4, 4))
    for part, each in zip(data.parts.values(), sets, strict=True):
        assert np.array_equal(part.x, each.tensors[0].numpy()) and np.array_equal(part.y, each.tensors[1].numpy())
        assert (part.x.dtype, part.y.dtype) == (np.float32, np.int64)


class Stream(IterableDataset):
    __getitem__ = None

    def __iter__(self):
        yield torch.rand(1), 0


@pytest.mark.parametrize(
    ("examples", "told"),
    [
        (Stream(), "mine, train: expected a map-style data set with a length, got Stream"),
        ([], "mine, train: expected examples, got none"),
        ([(torch.rand(2), 0), (torch.rand(3), 1)], "expected examples of one shape"),
        (
            [(torch.rand(2), 0.5)],
            "expected whole numbers as classes in all parts, or targets in all, got float32",
        ),
        ([(np.zeros((4, 4, 3), np.uint8), 0)], "floating-point examples, or rows of tokens, got uint8; convert images"),
        ([torch.rand(2)], "expected pairs of an input and its class, got Tensor"),
    ],
)
def test_data_sets_that_cannot_be_read_are_reported(examples, told):
    with pytest.raises(ValueError, match=told):
        from_datasets(examples, dataset(2), dataset(2), "mine")
