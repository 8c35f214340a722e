import numpy as np
import pytest

from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.build.mobile import Inverted  # noqa: E402
from lamcts.neural.build.noise import reseed  # noqa: E402
from lamcts.neural.supernet import supernet  # noqa: E402
from lamcts.neural.supernet.mobile import MobileLayer, middle  # noqa: E402

OFA, ACCEL = nas.EfficientNet(blocks=1), nas.AccelNasBench()
SIZES = {"width": 0.25, "stem_stride": 1}


def of(space):
    return supernet(space, channels=1, classes=3, **SIZES)


def images():
    return torch.rand((3, 1, 6, 6), generator=torch.Generator().manual_seed(0))


def same(net, point):
    """Assert that a mask is the network alone, in training and out of it, statistics included."""
    for training in (True, False):
        alone = net.train(training).subnet(point)
        assert torch.equal(net(images(), point), alone(images())), (training, point)
        own = net.state_dict()
        assert all(torch.equal(value, net.source(name, point, own)) for name, value in alone.state_dict().items())


def test_every_depth_width_kernel_and_stride_is_the_network_alone_bit_for_bit():
    net, base = of(OFA), {"block0_l": 2, "block0_e": 3, "block0_k": 3, "block0_s": 1}
    for name, options in net.region.allowed.items():
        for option in options[name != "block0_l" :]:  # the least of the others is that of depth
            same(net, base | {name: option})


def test_networks_with_and_without_expansion_and_squeezing_share_weights():
    net, rng = of(ACCEL), np.random.default_rng(0)
    points = [ACCEL.random(rng) for _ in range(2)]
    for name, options in (("e", (1, 4)), ("se", (0, 1))):
        assert all({point[f"block{i}_{name}"] for i in range(7) for point in points} >= {option} for option in options)
    for point in points:
        same(net, point)


def test_a_small_layer_is_the_middle_of_the_kernel_and_the_first_channels():
    weight = torch.arange(2 * 1 * 5 * 5.0).view(2, 1, 5, 5)
    assert torch.equal(middle(weight, torch.Size([1, 1, 3, 3])), weight[:1, :, 1:4, 1:4])
    net = of(ACCEL)
    elastic = net.body[net.first][0]
    before, after = elastic.ends
    found = elastic.parts(MobileLayer(3, 2, 1, False), dict(elastic.largest.state_dict()))
    with torch.device("meta"):
        assert found.keys() == Inverted(before, after, 3, 2, 1, False).state_dict().keys()
    assert torch.equal(found["path.0.weight"], elastic.largest.path[3].weight[:before, :, 1:4, 1:4])
    assert torch.equal(found["path.3.weight"], elastic.largest.path[7].weight[:, :before])


def test_gradients_reach_the_weights_of_the_mask_alone():
    net, point = of(OFA), {"block0_l": 2, "block0_e": 3, "block0_k": 3, "block0_s": 1}
    net(images(), point).square().sum().backward()
    first, _, third = net.body[net.first][:3]
    filters = first.largest.path[3].weight.grad  # [hidden, 1, 7, 7]
    hidden = first.ends[0] * 3
    assert filters[:hidden, :, 2:5, 2:5].abs().sum() > 0
    assert filters.count_nonzero() == filters[:hidden, :, 2:5, 2:5].count_nonzero()
    assert all(weight.grad is None for weight in third.parameters())


def test_dropped_paths_draw_from_what_the_supernet_is_seeded_by():
    net, point = of(OFA), {"block0_l": 3, "block0_e": 3, "block0_k": 3, "block0_s": 1}
    alone = net.subnet(point)
    scores = []
    for each, given in ((net, (images(), point)), (alone, (images(),))):
        reseed(each, 5, drop_path=0.6)
        scores.append(each(*given))
    assert torch.equal(*scores) and not torch.equal(scores[0], of(OFA)(images(), point))
