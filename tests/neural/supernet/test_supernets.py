import numpy as np
import pytest

import lamcts
from lamcts.errors import InvalidPoint
from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.build import build  # noqa: E402
from lamcts.neural.build.noise import reseed  # noqa: E402
from lamcts.neural.supernet import SupernetRegion, recalibrate, supernet  # noqa: E402
from lamcts.neural.train import Recipe, train  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

DIGITS, NB201, NASNET, DARTS = nas.Digits4096(), nas.NasBench201(), nas.NasNet(), nas.DartsCells()
IO = nas.IoCell(nodes=5)
SIZES = {"digits4096": {"widths": (4,), "cells": 1}, "nasbench201": {"widths": (2, 3), "cells": 1}}
SIZES |= {name: {"width": 2, "cells": 3} for name in ("nasnet", "darts", "io-cell")}
SPACES = [DIGITS, NB201, NASNET, DARTS, IO]
EVERY = pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)


def of(space, **settings):
    return supernet(space, channels=1, classes=3, **SIZES[space.name], **settings)


def images(n=4):
    return torch.rand((n, 1, 6, 6), generator=torch.Generator().manual_seed(0))


def points(space, n):
    rng = np.random.default_rng(0)
    return [space.random(rng) for _ in range(n)]


def cells_with_every_operation(space):
    """Return cells of which each has one operation on all edges."""
    if space in (NASNET, DARTS, IO):
        base = points(space, 1)[0] | {name: 1 for name in space.space.names if space.connect in name}
        layers = [name for name in base if f"_{space.operation}" in name]
        return [base | dict.fromkeys(layers, operation) for operation in space.operations]
    return [space.point((number,) * 6) for number in range(len(space.operations))]


@pytest.fixture(scope="module")
def data():
    return few_digits(40, 24, 16)


def test_a_supernet_fits_as_any_network_trains_and_reports_its_epochs(data):
    recipe, epochs = Recipe(epochs=2, batch=20), []
    net = supernet(DIGITS, channels=1, **SIZES["digits4096"])
    fitted = net.fit(data, recipe, seed=3, report=epochs.append)
    other = train(supernet(DIGITS, channels=1, **SIZES["digits4096"]), data, recipe, seed=3)
    weights, expected = fitted.state_dict(), other.net.state_dict()
    assert fitted is net and all(torch.equal(weights[name], expected[name]) for name in expected)
    assert [epoch.valid_loss for epoch in epochs] == [epoch.valid_loss for epoch in other.epochs]


@EVERY
def test_a_masked_supernet_is_the_network_alone_bit_for_bit(space):
    net, x = of(space), images()
    for i, point in enumerate([*cells_with_every_operation(space), *points(space, 2)]):
        for training in (True, False):
            net.train(training)
            alone = net.subnet(point)
            assert type(alone) is type(build(space, point, channels=1, classes=3, **SIZES[space.name]))
            assert torch.equal(net(x, point), alone(x)), (i, training)
            own = net.state_dict()  # statistics of batch norms have moved alike
            assert all(torch.equal(v, net.source(name, point, own)) for name, v in alone.state_dict().items())


@EVERY
def test_gradients_of_a_mask_are_those_of_the_network_alone(space):
    net, point, x = of(space), points(space, 2)[1], images()
    alone = net.subnet(point)
    for each in (net(x, point), alone(x)):
        each.square().sum().backward()
    own = {name: weight.grad for name, weight in net.named_parameters() if weight.grad is not None}
    used = {name: weight.grad for name, weight in alone.named_parameters() if weight.grad is not None}
    assert own and all(torch.equal(grad, net.source(name, point, own)) for name, grad in used.items())
    assert sum(int(grad.ne(0).sum()) for grad in own.values()) == sum(int(grad.ne(0).sum()) for grad in used.values())


@EVERY
def test_a_networks_weights_are_copies(space):
    net, point, x = of(space).eval(), points(space, 1)[0], images()
    before, alone = net(x, point), net.subnet(point)
    with torch.no_grad():
        for weight in alone.parameters():
            weight.fill_(7.0)
    assert torch.equal(net(x, point), before)


@EVERY
def test_statistics_are_estimated_anew_for_the_network_and_stay_as_they_are_in_the_supernet(space):
    net, point, x = of(space), points(space, 1)[0], images(8)
    net(x + 1, point)  # statistics that are of other images
    kept = {name: value.clone() for name, value in net.state_dict().items()}
    alone = net.eval().subnet(point, batches=[x])
    assert all(torch.equal(value, kept[name]) for name, value in net.state_dict().items())
    stem = next(module for module in alone.modules() if isinstance(module, torch.nn.BatchNorm2d))
    inside = []
    hook = stem.register_forward_hook(lambda module, given, out: inside.append(given[0]))
    alone(x)
    hook.remove()
    assert torch.allclose(stem.running_mean, inside[0].mean((0, 2, 3)), atol=1e-6)
    assert torch.allclose(stem.running_var, inside[0].var((0, 2, 3)), atol=1e-5)
    assert not alone.training and stem.momentum == 0.1


def test_statistics_of_several_batches_are_their_means():
    norm = torch.nn.BatchNorm2d(1)
    batches = [torch.full((2, 1, 1, 2), 1.0), torch.full((2, 1, 1, 2), 4.0)]
    recalibrate(norm, batches)
    assert norm.running_mean.item() == 2.5 and norm.training


@EVERY
def test_training_draws_another_network_each_batch_from_seeded_noise(space):
    net, x = of(space), images()
    with pytest.raises(RuntimeError, match="expected a point, or a seed for drawing one"):
        net(x)
    drawn, net.masked = [], lambda x, point: drawn.append(point)
    for seed in (3, 3, 4):
        reseed(net, seed)
        net.train()(x), net(x)
    assert drawn[:2] == drawn[2:4] != drawn[4:] and drawn[0] != drawn[1]
    assert all(space.invalid(point) is None for point in drawn)


def test_where_it_is_judged_examples_are_dealt_to_the_same_networks_each_time():
    net, x = of(DIGITS).eval(), images(24)
    scores = net(x)
    assert torch.equal(scores, net(x)) and torch.equal(scores[:3], net(x[:3], net.judged[0]))
    assert torch.equal(scores[21:], net(x[21:], net.judged[7])) and len(net(x[:3])) == 3


def test_cells_without_a_path_teach_nothing_and_are_not_drawn():
    net, rng = of(DIGITS), np.random.default_rng(0)
    drawn = [net.draw(lambda n: int(rng.integers(n))) for _ in range(60)]
    assert all(net.learns(point) for point in drawn)
    no_path = SupernetRegion.whole(DIGITS).split("edge_0_3", [("none",), DIGITS.operations[1:]])[0]
    for place in ("edge_0_1", "edge_0_2"):
        no_path = no_path.split(place, [("none",), DIGITS.operations[1:]])[0]
    alone = of(DIGITS, region=no_path)
    assert not alone.learns(alone.draw(lambda n: 0))  # there is no other


@EVERY
def test_a_part_of_a_supernet_has_copies_of_the_weights_that_it_needs_and_no_more(space):
    net = of(space)
    place = net.places[0]
    options = net.region.allowed[place]
    region = net.region.split(place, [options[:1], options[1:]])[0]
    child, x = net.restricted(region).eval(), images()
    mine, own = child.state_dict(), net.state_dict()
    assert set(mine) <= set(own) and all(torch.equal(value, own[name]) for name, value in mine.items())
    inside = [point for point in points(space, 40) if region.holds(point)]
    assert inside and all(torch.equal(child(x, point), net.eval()(x, point)) for point in inside[:1])
    outside = next(point for point in points(space, 40) if not region.holds(point))
    with pytest.raises(ValueError, match="which the supernet has, got"):
        child(x, outside)
    with pytest.raises(ValueError, match=r"expected a part of .*, which the supernet has"):
        child.restricted(net.region)


def test_a_supernet_trains_as_a_network_does_and_the_same_seed_gives_the_same(data, tmp_path):
    def new():
        return supernet(DIGITS, channels=1, **SIZES["digits4096"], seed=1)

    recipe = Recipe(epochs=2, batch=10, drop_path=0.1)
    one = train(new(), data, recipe, seed=3)
    kept = one.net.state_dict()
    assert train(new(), data, recipe, seed=4).epochs[1].train_loss != one.epochs[1].train_loss

    def stop(epoch):
        raise KeyboardInterrupt

    file = tmp_path / "net.npz"
    with pytest.raises(KeyboardInterrupt):
        train(new(), data, recipe, seed=3, checkpoint=file, report=stop)
    resumed = train(new(), data, recipe, seed=3, checkpoint=file)
    assert [epoch.train_loss for epoch in one.epochs] == [epoch.train_loss for epoch in resumed.epochs]
    assert all(torch.equal(value, kept[name]) for name, value in resumed.net.state_dict().items())


def test_what_cannot_be_built_is_said():
    with pytest.raises(ValueError, match="expected a space that has one, got convnet"):
        supernet(nas.ConvNet(layers=2))
    with pytest.raises(ValueError, match="expected sizes of digits4096, widths, cells, got 'width'"):
        supernet(DIGITS, width=3)
    with pytest.raises(InvalidPoint, match="twice on input"):
        of(NASNET)(images(), cells_with_every_operation(NASNET)[0] | {"normal_connect0": 0})


# Regions --------------------------------------------------------------------------------------------------------------


def test_a_region_is_split_by_groups_that_have_each_option_once():
    whole = SupernetRegion.whole(DIGITS)
    parts = whole.split("edge_0_1", [("none", "nor_conv_3x3"), ("skip_connect",), ("avg_pool_3x3",)])
    rng = np.random.default_rng(0)
    for point in points(DIGITS, 30):
        assert whole.holds(point) and sum(part.holds(point) for part in parts) == 1
    assert all(parts[0].holds(parts[0].draw(lambda n: int(rng.integers(n)))) for _ in range(20))
    assert str(parts[1]).startswith("edge_0_1: skip_connect, edge_0_2: none|skip_connect|")
    for wrong in ([("none",)], [DIGITS.operations, ("none",)], [DIGITS.operations, ()], [("none",) * 4]):
        with pytest.raises(ValueError, match="each option in one"):
            whole.split("edge_0_1", wrong)
    numbers = nas.Digits4096()
    numbers.space = lamcts.Space({"edge_0_1": lamcts.Int(0, 3)})
    with pytest.raises(ValueError, match="expected a space of named choices, got edge_0_1: Int"):
        SupernetRegion.whole(numbers)
