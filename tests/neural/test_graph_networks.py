"""Networks of the layer-by-layer space and of random graphs compute what their papers say."""

import pytest

from lamcts.neural import nas

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.build import build  # noqa: E402
from lamcts.neural.build.build import joined  # noqa: E402


def images(side=7):
    return torch.rand((2, 1, side, side), generator=torch.Generator().manual_seed(0))


def test_layers_are_concatenated_and_smaller_maps_padded_with_zeros():
    space = nas.Layerwise(layers=3)
    net = build(space, space.parse("3x1x24s1 1x5x36s2 3x3x24s1:0,1"), channels=1, classes=3).eval()
    x = images()
    first, second = net.layers[0](x), net.layers[1](x)
    assert first.shape == (2, 24, 7, 7) and second.shape == (2, 36, 4, 4)
    wide = torch.zeros(2, 36, 7, 7)
    wide[:, :, :4, :4] = second
    both = torch.cat([first, wide], 1)
    assert torch.equal(joined([first, second]), both)
    assert torch.equal(net(x), net.head(net.layers[2](both)))


def test_layers_have_the_parameters_of_their_shapes():
    space = nas.Layerwise(layers=2)
    net = build(space, space.parse("7x3x48s1 1x5x36s2"), channels=3, classes=10)
    convolutions = 7 * 3 * 3 * 48 + 1 * 5 * 3 * 36
    assert sum(each.numel() for each in net.parameters()) == convolutions + 2 * (48 + 36) + (48 + 36 + 1) * 10


def test_a_node_adds_its_inputs_with_positive_weights_and_a_stage_averages_its_sinks():
    space = nas.RandomGraphs(stages=1, nodes=9)
    point = space.parse("er-0.2:1")
    net = build(space, point, channels=1, classes=3, width=4, stem_stride=1).eval()
    stem, stage, relu, head = net
    edges = space.edges(point, 0)
    with torch.no_grad():
        for add in stage.sums:
            assert torch.equal(add.weight, torch.zeros_like(add.weight))
            add.weight.normal_(generator=torch.Generator().manual_seed(1))
        x, maps = stem(images()), []
        for node in range(9):
            read = [maps[i] for i, j in edges if j == node] or [x]
            total = sum(weight.sigmoid() * each for weight, each in zip(stage.sums[node].weight[0], read, strict=True))
            maps.append(stage.layers[node](total))
        sinks = [maps[node] for node in range(9) if node not in {i for i, _ in edges}]
        wanted = head(relu(sum(sinks) / len(sinks)))
        torch.testing.assert_close(net(images()), wanted, rtol=1e-4, atol=1e-5)


def test_later_stages_halve_the_size_and_double_the_channels():
    space = nas.RandomGraphs(stages=2, nodes=9)
    net = build(space, space.parse("ws-4-0.5:0 ba-3:1"), channels=1, classes=3, width=4, stem_stride=1)
    x = net[0](images(8))
    assert net[1](x).shape == (2, 4, 8, 8) and net[2](net[1](x)).shape == (2, 8, 4, 4)
