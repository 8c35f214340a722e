import numpy as np
import pytest

from lamcts.neural.train import Recipe

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.train.augment import Augmentation, Targets  # noqa: E402


def images(b=200, c=2, side=6):
    return torch.arange(1.0, b * c * side * side + 1).reshape(b, c, side, side), torch.arange(b) % 5


def changed(seed=0, **settings):
    x, y = images()
    return x, *Augmentation(Recipe(**settings), seed)(x, y)


def test_without_settings_images_are_as_they_were():
    x, seen, targets = changed()
    assert torch.equal(seen, x) and targets.share == 1


def test_a_cropped_image_is_a_window_of_the_padded_one():
    x, seen, _ = changed(crop=2)
    padded = torch.nn.functional.pad(x, (2,) * 4)
    places = set()
    for i in range(len(x)):
        windows = {(r, c): padded[i, :, r : r + 6, c : c + 6] for r in range(5) for c in range(5)}
        places |= {place for place, window in windows.items() if torch.equal(window, seen[i])}
    assert len(places) == 25  # and each was found, as every shift occurs among 200 images


def test_about_half_of_the_images_are_mirrored():
    x, seen, _ = changed(flip=True)
    mirrored = [bool(torch.equal(a.flip(-1), b)) for a, b in zip(x, seen, strict=True)]
    same = [bool(torch.equal(a, b)) for a, b in zip(x, seen, strict=True)]
    assert all(a != b for a, b in zip(mirrored, same, strict=True)) and 70 < sum(mirrored) < 130


def test_a_square_of_zeros_is_cut_out_which_may_reach_over_the_edge():
    _, seen, _ = changed(cutout=3)
    gone = (seen == 0).sum((1, 2, 3)) / 2
    assert gone.max() == 9 and gone.min() == 4 and set(gone.tolist()) == {4, 6, 9}
    assert set((seen == 0).any(1).any(1).sum(1).tolist()) == {2, 3}


def test_mixup_mixes_images_and_losses_in_the_same_share():
    x, seen, targets = changed(mixup=1.0)
    other = targets.other
    assert 0 < targets.share < 1 and not torch.equal(other, targets.y)
    whole = (seen - targets.share * x) / (1 - targets.share)  # the images that were mixed in
    assert whole.sum() == pytest.approx(float(x.sum()), rel=1e-4)
    scores = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
    one, two = (torch.nn.functional.cross_entropy(scores, y) for y in (targets.y, other))
    assert targets.loss(scores, 0.0) == pytest.approx(float(targets.share * one + (1 - targets.share) * two))


def test_a_patch_of_another_image_has_the_share_of_its_area():
    shares = []
    for seed in range(30):
        x, seen, targets = changed(seed, cutmix=1.0)
        kept = (seen == x).float().mean((1, 2, 3))
        shares.append(targets.share)
        assert float(kept.min()) == pytest.approx(targets.share, abs=1e-6)
    assert min(shares) < 0.5 and max(shares) > 0.9


def test_smoothing_asks_for_a_little_of_every_class():
    scores = torch.tensor([[9.0, 0.0, 0.0]])
    plain, smooth = (Targets(torch.tensor([0]), torch.tensor([0]), 1.0).loss(scores, s) for s in (0.0, 0.3))
    assert float(smooth - plain) == pytest.approx(0.3 * 9 * 2 / 3, rel=1e-3)


def test_draws_are_those_of_the_seed():
    settings = {"crop": 1, "flip": True, "cutout": 2, "cutmix": 1.0}
    (_, one, _), (_, same, _), (_, other, _) = (changed(seed, **settings) for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
