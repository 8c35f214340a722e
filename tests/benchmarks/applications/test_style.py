"""Style transfer: Gram matrices counted by hand, and an image that takes over a style and keeps its content."""

import pytest

pytest.importorskip("torch")

import torch

from benchmarks.neural.applications.models.segmenter import segmenter
from benchmarks.neural.applications.models.style import content_loss, features_of, gram, roughness, style_loss, transfer
from benchmarks.neural.applications.style import RESIDUAL, styles
from lamcts.neural import nas


def test_a_gram_matrix_is_that_counted_by_hand_and_forgets_where_pixels_are():
    maps = torch.tensor([[[[1.0, 2.0]], [[3.0, 0.0]]]])  # two channels of 1 by 2 pixels
    assert gram(maps).tolist() == [[[2.5, 1.5], [1.5, 4.5]]]
    assert torch.equal(gram(maps), gram(maps.flip(3)))


def test_roughness_is_that_counted_by_hand():
    assert float(roughness(torch.tensor([[[[0.0, 1.0], [0.0, 3.0]]]]))) == 4 / 2 + (1 + 9) / 2


def test_an_image_has_no_loss_from_its_own_style_and_content():
    maps = [torch.rand(1, 3, 4, 4, generator=torch.Generator().manual_seed(0))]
    assert float(style_loss(maps, [gram(m) for m in maps])) == float(content_loss(maps, maps)) == 0
    assert float(style_loss([2 * m for m in maps], [gram(m) for m in maps])) == pytest.approx(9)  # (4 - 1)^2


def test_an_image_takes_over_a_style_and_keeps_more_of_its_content_at_a_small_weight():
    space = nas.NasBench201()
    net = segmenter(space, space.parse(RESIDUAL), widths=(8, 16), cells=1)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    features = features_of(net)
    content, style = (torch.tensor(image)[None].float() for image in styles(24).values())
    strong = transfer(features, content, style, steps=40)
    weak = transfer(features, content, style, steps=40, weight=0.01)
    assert strong.content[0] == weak.content[0] == 0 and strong.style[-1] < strong.style[0] / 3
    assert weak.content[-1] < strong.content[-1] and strong.style[-1] < weak.style[-1]
    assert float(strong.image.min()) >= 0 and float(strong.image.max()) <= 1
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
