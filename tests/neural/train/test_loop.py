import copy
import os
from itertools import pairwise

import numpy as np
import pytest

from lamcts.neural.train import Data, Diverged, OutOfMemory, Recipe, Seeds, digits, train
from lamcts.neural.train.data import part_of

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural.build import Dropout, DropPath  # noqa: E402
from lamcts.neural.train.loop import batches  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402


@pytest.fixture
def little():
    """Return sixty digits."""
    return few_digits(40, 20, 20)


def net(seed=0, noise=0.0):
    """Return a small network with statistics, and what draws where `noise` says so."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        body = [nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), Dropout(noise), DropPath()]
        return nn.Sequential(*body, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 10))


EVERYTHING = Recipe(
    epochs=4, batch=16, crop=1, flip=True, cutout=2, mixup=0.4, smoothing=0.1, drop_path=0.3, average=0.9, clip=1.0
)
ADAM = Recipe(epochs=4, batch=16, optimiser="adamw", rate=1e-2, schedule="step", warmup=1.0, cutmix=1.0)


def numbers(trained):
    return [(row.train_loss, row.valid_loss, row.valid_accuracy) for row in trained.epochs], trained.test_loss


def test_a_small_network_learns_the_digits():
    trained = train(net(), digits(), Recipe(epochs=2, rate=0.1))
    assert trained.valid_accuracy > 0.5 and trained.test_accuracy > 0.5
    assert all(later.train_loss < before.train_loss for before, later in pairwise(trained.epochs))
    assert trained.seconds > 0 and trained.peak_bytes is None


@pytest.mark.parametrize("recipe", [EVERYTHING, ADAM])
def test_the_same_seed_gives_the_same_bits_and_another_others(little, recipe):
    first, again, other = (numbers(train(net(noise=0.2), little, recipe, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("recipe", [EVERYTHING, ADAM])
def test_a_run_that_was_stopped_goes_on_from_its_checkpoint_to_the_same_bits(little, recipe, tmp_path):
    class Killed(Exception):
        pass

    def stop(row):
        if row.epoch == 2:
            raise Killed

    whole, heard = train(net(noise=0.2), little, recipe), []
    with pytest.raises(Killed):
        train(net(noise=0.2), little, recipe, checkpoint=tmp_path / "a" / "run.npz", report=stop)
    goes_on = train(net(noise=0.2), little, recipe, checkpoint=tmp_path / "a" / "run.npz", report=heard.append)
    assert numbers(goes_on) == numbers(whole)
    assert [row.epoch for row in heard] == [1, 2, 3, 4]
    for name, value in whole.net.state_dict().items():
        assert torch.equal(value, goes_on.net.state_dict()[name]), name
    assert os.listdir(tmp_path / "a") == ["run.npz"]


def test_a_checkpoint_of_another_training_or_a_damaged_one_is_refused(little, tmp_path):
    recipe, path = Recipe(epochs=1), tmp_path / "run.npz"
    train(net(), little, recipe, checkpoint=path)
    others = {"recipe": (net(), Recipe(epochs=2), 0), "seeds": (net(), recipe, 1), "start": (net(1), recipe, 0)}
    for what, (other, how, seed) in others.items():
        with pytest.raises(ValueError, match=f"another {what};"):
            train(other, little, how, seed=seed, checkpoint=path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(ValueError, match="damaged"):
        train(net(), little, recipe, checkpoint=path)


def test_seeds_change_one_thing_each(little):
    seeds = Seeds.of(0)
    assert len(set(seeds)) == 4
    plain = numbers(train(net(), little, Recipe(epochs=1, batch=16), seed=seeds))
    assert plain == numbers(
        train(net(), little, Recipe(epochs=1, batch=16), seed=seeds._replace(augmentation=5, noise=5))
    )
    assert plain != numbers(train(net(), little, Recipe(epochs=1, batch=16), seed=seeds._replace(order=5)))


def test_an_epoch_holds_every_example_once_in_parts_of_equal_size():
    parts = list(batches(65, 64, 0, 0))
    assert [len(part) for part in parts] == [33, 32]
    assert sorted(torch.cat(parts).tolist()) == list(range(65))
    assert torch.cat(parts).tolist() != torch.cat(list(batches(65, 64, 0, 1))).tolist()


def test_a_loss_that_is_no_number_is_a_failure_with_its_reason(little):
    with pytest.raises(Diverged, match="lower the rate"):
        train(net(), little, Recipe(epochs=2, rate=1e30))


def test_too_little_memory_is_a_failure_with_its_reason(little):
    class Huge(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(10))

        def forward(self, x):
            return torch.empty(2**50) + self.weight

    with pytest.raises(OutOfMemory, match="smaller batch"):
        train(Huge(), little, Recipe(epochs=1))


def test_images_are_not_expected_of_texts():
    rows = np.zeros((3, 5), np.int64)
    texts = Data("texts", *[part_of(rows, rows, slice(None))] * 3, classes=4)
    with pytest.raises(ValueError, match="texts, got crop, flip"):
        train(net(), texts, Recipe(crop=1, flip=True))


def test_texts_are_learnt_word_by_word():
    rows = np.tile(np.arange(4), (12, 3))
    texts = Data("texts", *[part_of(rows, (rows + 1) % 4, slice(None))] * 3, classes=4)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(4, 8), nn.Linear(8, 4))
    assert train(model, texts, Recipe(epochs=30, batch=4, rate=0.5)).test_accuracy == 1


def test_averaged_weights_are_the_result_where_a_recipe_has_them(little):
    model = net()
    trained = train(model, little, Recipe(epochs=1, average=0.5))
    assert trained.net is not model
    assert not torch.equal(trained.net[0].weight, model[0].weight)
    assert torch.equal(trained.net[1].running_mean, model[1].running_mean)


def test_half_precision_learns_as_well_and_keeps_its_weights_whole(little):
    half, whole = (train(net(), little, Recipe(epochs=2, precision=each)) for each in ("bfloat16", "float32"))
    assert half.valid_loss != whole.valid_loss and half.valid_loss == pytest.approx(whole.valid_loss, abs=0.02)
    assert all(weight.dtype == torch.float32 for weight in half.net.parameters())
    with pytest.raises(ValueError, match="expected 'float32' or 'bfloat16' on cpu"):
        train(net(), little, Recipe(precision="float16"))


def test_a_trained_network_can_be_copied_and_trained_again(little):
    trained = train(net(noise=0.2), little, ADAM).net
    again, other = (numbers(train(each, little, ADAM, seed=1)) for each in (copy.deepcopy(trained), trained))
    assert again == other
