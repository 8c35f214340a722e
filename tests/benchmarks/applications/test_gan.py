"""Generators, their training against a discriminator, and the Frechet distance."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from benchmarks.neural.applications.arms import load_weights, save_weights
from benchmarks.neural.applications.models.frechet import between, frechet
from benchmarks.neural.applications.models.gan import GanObjective, GanRecipe, train_gan
from benchmarks.neural.applications.models.generator import dcgan, discriminator, generator, sample
from lamcts.neural import nas
from lamcts.neural.train import Diverged, digits

SPACE = nas.NasBench201()
POINT = SPACE.parse("|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|")
SHORT = GanRecipe(steps=3, batch=8)


def test_the_distance_of_gaussians_with_common_axes_is_that_of_means_and_deviations():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    a, b = np.array([1.0, 2.0, 0.0, 4.0]), np.array([3.0, 0.5, 1.0, 0.0])  # deviations along the axes, some of them 0
    m, n = rng.normal(size=(2, 4))
    found = between((m, (axes * a**2) @ axes.T), (n, (axes * b**2) @ axes.T))
    assert found == pytest.approx(((m - n) ** 2).sum() + ((a - b) ** 2).sum())


def test_the_distance_agrees_with_the_root_of_the_product_where_axes_differ():
    linalg = pytest.importorskip("scipy.linalg")
    x, y = np.random.default_rng(0).normal(size=(2, 9, 3))
    y = y @ np.diag([1.0, 2.0, 3.0]) + 1
    a, b = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    wanted = ((x.mean(0) - y.mean(0)) ** 2).sum() + np.trace(a + b - 2 * linalg.sqrtm(a @ b).real)
    assert frechet(x, y) == pytest.approx(wanted) and frechet(x, x) == pytest.approx(0, abs=1e-9)


def test_one_row_has_no_distance():
    with pytest.raises(ValueError, match="two rows and more"):
        frechet(np.zeros((1, 3)), np.zeros((5, 3)))


@pytest.mark.parametrize("side", [8, 12])
def test_generators_make_images_from_minus_1_to_1(side):
    z = torch.zeros(2, 5)
    for net in (generator(SPACE, POINT, side=side, latent=5, width=4), dcgan(side=side, latent=5, width=4)):
        images = net(z)
        assert images.shape == (2, 1, side, side) and images.abs().max() <= 1
        assert discriminator(side=side, width=4)(images).shape == (2,)


def test_the_same_seed_gives_the_same_generator_and_another_gives_another():
    images = torch.tensor(digits().valid.x[:20]) * 2 - 1

    def of(seed):
        return sample(train_gan(dcgan(width=4), discriminator(width=4), images, SHORT, seed=seed), 4)

    assert torch.equal(of(0), of(0)) and not torch.equal(of(0), of(1))


def test_a_discriminator_learns_to_tell_what_a_generator_cannot_follow():
    images, net, other = torch.ones(8, 1, 8, 8), dcgan(width=4), discriminator(width=4)
    for one in net.parameters():
        one.data.zero_()  # its images are zeros, and no gradient passes
    train_gan(net, other, images, GanRecipe(steps=20, batch=8, rate=1e-2))
    assert other(images).min() > 0 > other(torch.zeros(1, 1, 8, 8)).max()


def test_a_loss_that_is_no_number_is_said():
    images = torch.full((8, 1, 8, 8), torch.nan)
    with pytest.raises(Diverged, match="step 1"):
        train_gan(dcgan(width=4), discriminator(width=4), images, SHORT)


def test_an_objective_judges_a_generator_and_keeps_it(tmp_path):
    f = GanObjective(SPACE, digits(), SHORT, {"width": 4})
    value = f(POINT, seed=0)
    net = f.train(POINT, seed=0)
    save_weights(tmp_path / "net.npz", f, POINT, net)
    loaded = load_weights(tmp_path / "net.npz", f)
    assert f.judge.distance(loaded, "valid") == value
    assert value > 10 * f.judge.floor("valid") > 0
