import numpy as np
import pytest

from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.fewshot.splits import (  # noqa: E402
    Matching,
    SplitRequest,
    cut,
    gradients,
    similarity,
)
from lamcts.neural.supernet import supernet  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE = nas.Digits4096()


@pytest.fixture(scope="module")
def asked():
    net = supernet(SPACE, channels=1, widths=(2,), cells=1)
    return SplitRequest(net, 0, (), few_digits(40, 12, 12), batch=8, seed=0)


def test_the_cut_is_the_one_of_least_similarity_between_groups_of_equal_size():
    similarities = np.array([[1, 0.1, 0.9, 0.2], [0.1, 1, 0.2, 0.8], [0.9, 0.2, 1, 0.1], [0.2, 0.8, 0.1, 1]])
    assert cut(similarities) == (pytest.approx(0.15), {0, 2})
    single = np.array([[1, 0.5, -1.0], [0.5, 1, -1.0], [-1.0, -1.0, 1]])
    assert cut(single) == (-1.0, {0, 1})
    assert cut(np.array([[1, 0.3], [0.3, 1]])) == (0.3, {0})


def test_similarity_is_the_cosine_over_weights_that_both_use():
    a, b = torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0])
    assert similarity([a, None], [b, torch.tensor([9.0])]) == pytest.approx(0.5**0.5)
    assert similarity([a, a], [-2 * a, -2 * a]) == -1.0
    assert similarity([None], [a]) is None and similarity([a], [0 * a]) is None


def test_weights_of_one_operation_alone_have_no_say(asked):
    x, y = torch.tensor(asked.data.train.x[:8]), torch.tensor(asked.data.train.y[:8])
    net = asked.supernet
    conv, mean = (net.space.point((number, 0, 0, 1, 1, 0)) for number in (3, 2))
    names = [name for name, _ in net.named_parameters()]
    used = {name for name, grad in zip(names, gradients(net, conv, x, y), strict=True) if grad is not None}
    other = {name for name, grad in zip(names, gradients(net, mean, x, y), strict=True) if grad is not None}
    assert used - other == {f"stages.0.edges.0.nor_conv_3x3.{w}" for w in ("conv.weight", "norm.weight", "norm.bias")}
    assert other < used


def test_similarities_are_symmetric_repeat_themselves_and_leave_the_supernet_as_it_is(asked):
    kept = {name: value.clone() for name, value in asked.supernet.state_dict().items()}
    found = Matching(draws=3).similarities(asked, "edge_0_3")
    assert np.array_equal(found, found.T) and np.all(np.abs(found) <= 1 + 1e-6)
    assert np.array_equal(found, Matching(draws=3).similarities(asked, "edge_0_3"))
    assert all(torch.equal(value, kept[name]) for name, value in asked.supernet.state_dict().items())
    assert all(weight.grad is None for weight in asked.supernet.parameters())


def test_the_place_with_the_least_like_groups_is_split(asked, monkeypatch):
    told = dict.fromkeys(asked.open, np.ones((4, 4)))
    told["edge_1_3"] = np.array([[1, 0.9, -1, -1], [0.9, 1, -1, -1], [-1, -1, 1, 0.9], [-1, -1, 0.9, 1]])
    monkeypatch.setattr(Matching, "similarities", lambda self, asked, place: told[place])
    assert Matching()(asked) == ("edge_1_3", (("none", "skip_connect"), ("avg_pool_3x3", "nor_conv_3x3")))
