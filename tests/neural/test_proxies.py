import math

import numpy as np
import pytest

import lamcts
from lamcts.neural import nas
from lamcts.objectives import Costed

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural.proxies import PROXIES, ProxyObjective, score  # noqa: E402
from lamcts.neural.train import digits  # noqa: E402

SPACE, SIZES = nas.Digits4096(), {"widths": (4,), "cells": 1}
POINT = SPACE.point((3, 0, 0, 1, 3, 0))
SAME = SPACE.point((3, 2, 0, 1, 3, 0))  # the same network: an edge leads nowhere
NOTHING = SPACE.point((0, 0, 0, 0, 0, 0))  # the output does not depend on the input


@pytest.fixture
def net():
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(144, 3)
    return nn.Sequential(*layers)


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(6, 1, 8, 8, generator=generator), torch.tensor([0, 1, 2, 0, 1, 2])


@pytest.fixture(autouse=True)
def _restored_generator():
    with torch.random.fork_rng():
        yield


def test_synflow_of_two_linear_layers_is_their_formula():
    first, second = torch.tensor([[1.0, -2.0], [-3.0, 0.5], [0.0, 1.0]]), torch.tensor([[-1.0, 2.0, -4.0]])
    net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False))
    with torch.no_grad():
        net[0].weight.copy_(first)
        net[1].weight.copy_(second)
    flow = 1 * 3 + 2 * 3.5 + 4 * 1  # |second| |first| 1: each layer adds it once
    found = score(net, (torch.randn(5, 2), torch.zeros(5, dtype=torch.int64)), "synflow")
    assert found == pytest.approx(math.log1p(2 * flow), rel=1e-14)


def test_synflow_needs_no_data_and_ignores_signs_and_statistics(net, batch):
    x, y = batch
    found = score(net, batch, "synflow")
    with torch.no_grad():
        net[0].weight.neg_()
        net[1].running_mean.add_(3)
    assert score(net, (7 * x - 1, y), "synflow") == found


def test_grad_norm_is_the_sum_of_the_norms_that_autograd_computes(batch):
    torch.manual_seed(1)
    net, (x, y) = nn.Sequential(nn.Flatten(), nn.Linear(64, 5), nn.Tanh(), nn.Linear(5, 3)), batch
    loss = nn.functional.cross_entropy(net(x), y)
    wanted = sum(float(each.norm()) for each in torch.autograd.grad(loss, list(net.parameters())))
    assert score(net, batch, "grad_norm") == pytest.approx(wanted, rel=1e-6)


def test_naswot_counts_equal_relu_states():
    net, y = nn.ReLU(), torch.tensor([0, 1])
    x = torch.tensor([[1.0, -1.0, 2.0], [1.0, 1.0, -2.0]])  # states 101 and 110: one of three is equal
    assert score(net, (x, y), "naswot") == pytest.approx(math.log(3 * 3 - 1))


@pytest.mark.parametrize("relu", [nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6()])
def test_naswot_sees_every_form_of_relu_and_leaves_the_batch_unchanged(relu, batch):
    net, (x, y) = nn.Sequential(nn.Flatten(), relu), batch
    before, on = x.clone(), (x.flatten(1) > 0).double()
    wanted = torch.linalg.slogdet(on @ on.T + (1 - on) @ (1 - on).T).logabsdet
    assert score(net, (x, y), "naswot") == pytest.approx(float(wanted)) and torch.equal(x, before)


def test_naswot_of_equal_examples_is_minus_infinity(net, batch):
    x, y = batch
    assert score(net, (x[:1].expand(6, 1, 8, 8), y), "naswot") == -math.inf


def test_naswot_of_fewer_relus_than_examples_is_minus_infinity(batch):
    for features, finite in ((2, False), (30, True)):
        net = nn.Sequential(nn.Flatten(), Columns(features), nn.ReLU())
        assert math.isfinite(score(net, batch, "naswot")) == finite


class Columns(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.columns = columns

    def forward(self, x):
        return x[:, : self.columns]


def test_naswot_needs_relus(batch):
    for layer in (nn.Tanh(), nn.Hardtanh()):
        with pytest.raises(ValueError, match="naswot: expected a network with ReLUs, got none; take another"):
            score(nn.Sequential(nn.Flatten(), layer), batch, "naswot")


def test_jacov_of_a_linear_network_is_that_of_equal_jacobians(batch):
    net, k = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), 1e-5
    one, rest = math.log(6 + k) + 1 / (6 + k), math.log(k) + 1 / k  # correlations of one: eigenvalues 6, 0, ..., 0
    assert score(net, batch, "jacov") == pytest.approx(-(one + 5 * rest))


def test_jacov_of_uncorrelated_jacobians_is_its_greatest_value():
    net, k = Squares(), 1e-5
    x = torch.tensor([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])  # jacobians 2x, of mean 0 and orthogonal
    assert score(net, (x, torch.tensor([0, 1])), "jacov") == pytest.approx(-2 * (math.log(1 + k) + 1 / (1 + k)))


class Squares(nn.Module):
    def forward(self, x):
        return x**2


def test_sizes_are_counted(net, batch):
    assert score(net, batch, "parameters") == 4 * 9 + 4 + 2 * 4 + 144 * 3 + 3
    assert score(net, batch, "flops") == 2 * (36 * 4 * 9 + 144 * 3)
    net[0].weight.requires_grad_(False)
    assert score(net, batch, "parameters") == 4 + 2 * 4 + 144 * 3 + 3


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("training", [True, False])
def test_a_score_is_repeatable_and_leaves_network_batch_and_generators_unchanged(net, batch, name, training):
    net.train(training)
    net[2].eval()
    nn.functional.cross_entropy(net(batch[0]), batch[1]).backward()
    values = {key: value.clone() for key, value in net.state_dict().items()}
    grads, modes = [each.grad.clone() for each in net.parameters()], [each.training for each in net.modules()]
    x, state = batch[0].clone(), torch.get_rng_state()
    with torch.no_grad():  # the mode of the caller has no effect
        found = score(net, batch, name)
    assert found == score(net, batch, name) and math.isfinite(found)
    assert all(torch.equal(value, values[key]) for key, value in net.state_dict().items())
    assert all(torch.equal(each.grad, grad) for each, grad in zip(net.parameters(), grads, strict=True))
    assert [each.training for each in net.modules()] == modes
    assert torch.equal(batch[0], x) and not batch[0].requires_grad and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", ["grad_norm", "jacov", "naswot"])
def test_the_order_of_examples_has_no_effect(net, batch, name):
    order = [3, 0, 5, 1, 4, 2]
    turned = batch[0][order], batch[1][order]
    assert score(net, turned, name) == pytest.approx(score(net, batch, name), rel=1e-4)


def test_errors_name_the_cause_and_the_cure(net, batch):
    with pytest.raises(ValueError, match=r"expected one of parameters, .*, got 'sinflow'; did you mean 'synflow'"):
        score(net, batch, "sinflow")
    with pytest.raises(ValueError, match="did you mean 'naswot'"):
        ProxyObjective(SPACE, digits(), "naswott")
    with pytest.raises(ValueError, match="floating-point numbers, got"):
        score(nn.Embedding(3, 2), (torch.zeros(2, 3, dtype=torch.int64), batch[1]), "synflow")
    with torch.no_grad():
        net[0].bias.fill_(math.nan)
    for name in ("synflow", "jacov", "grad_norm"):
        with pytest.raises(RuntimeError, match=f"{name}: expected a number, got nan; check the weights"):
            score(net, batch, name)


def test_an_objective_scores_points_and_is_costed():
    f = ProxyObjective(SPACE, digits(), "naswot", SIZES, examples=16)
    assert isinstance(f, Costed) and f.maximize and f.cost(POINT)["params"] > 0
    assert f(POINT) == score(f.network(POINT), f.batch, "naswot") == f(POINT, seed=3) == f.report(POINT)["naswot"]
    assert [len(each) for each in f.batch] == [16, 16] and f.report(POINT).keys() == PROXIES.keys()
    other = ProxyObjective(SPACE, digits(), "naswot", SIZES, examples=16, weights_seed=1)
    assert other(POINT) != f(POINT) and other.fingerprint() != f.fingerprint()


def test_points_of_one_network_have_one_score():
    f = ProxyObjective(SPACE, digits(), "grad_norm", SIZES)
    assert SPACE.key(POINT) == SPACE.key(SAME) and f(POINT) == f(SAME)


def test_a_network_without_a_score_is_a_failed_evaluation():
    f = ProxyObjective(SPACE, digits(), "naswot", SIZES)
    assert math.isnan(f.report(NOTHING)["naswot"]) and math.isnan(f.report(NOTHING)["jacov"])
    with pytest.raises(RuntimeError, match="expected examples with different states of ReLUs"):
        f(NOTHING)


def test_a_search_finds_the_largest_network():
    f = ProxyObjective(SPACE, digits(), "parameters", SIZES)
    result = lamcts.maximize(f, f.space, budget=40, seed=0)
    largest = f(SPACE.point((3, 3, 3, 3, 3, 3)))
    assert f(result.x) == result.fun == largest
    rng = np.random.default_rng(0)
    assert all(f(SPACE.random(rng)) <= largest for _ in range(5))
