import json

import numpy as np
import pytest
from commands import said

from lamcts.neural.cli.trained import KINDS, values_of
from lamcts.neural.train import load_network

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

QUICK = ["--quiet", "--no-plot", "--recipe", "epochs=2", "--search", "random"]


pytestmark = pytest.mark.usefixtures("images")


def search(capsys, *more):
    return said(capsys, "nas", "train", "--space", "convnet", "--data", "mine.npz", *QUICK, *more)


def test_networks_are_trained_and_the_best_is_kept_with_its_card(capsys, tmp_path):
    code, out, err = search(capsys, "--budget", "3")
    folder = tmp_path / "convnet-mine-random-seed0"
    assert (code, err) == (0, "") and "weights and model card" in out
    result = json.loads((folder / "result.json").read_text())
    net, card = load_network(folder / "network.npz")
    assert card["text"] == result["best"]["text"] in out and card["recipe"]["epochs"] == 2
    assert result["reported"]["valid_accuracy_percent"] == result["best"]["value"]
    assert result["costs"]["params"] == sum(each.numel() for each in net.parameters())
    assert net(torch.zeros(5, 1, 4, 4)).shape == (5, 2) and not net.training
    assert len(list((folder / "trained").rglob("*.npz"))) == 3


@pytest.mark.dear
def test_the_same_command_goes_on_and_another_recipe_is_another_run(capsys):
    assert search(capsys, "--budget", "2")[0] == 0
    code, out, _ = search(capsys, "--budget", "3")
    assert code == 0 and "3 evaluations, 2 of them done" in out
    code, _, err = search(capsys, "--budget", "4", "--recipe", "rate=0.01")
    assert code != 0 and "rate" in err


def test_networks_begin_with_the_weights_of_others_where_asked_to(capsys, tmp_path):
    words = "nas train --space convnet --data mine.npz --search local --first 1 --budget 3 --inherit"
    code, _, _ = said(capsys, *words.split(), "--quiet", "--no-plot", "--recipe", "epochs=4")
    lengths = sorted(len(epochs_in(file)) for file in (tmp_path / "convnet-mine-local-seed0").rglob("*-*-*.npz"))
    assert code == 0 and lengths == [1, 1]  # the neighbours of the first: an epoch of 4, as 20 of 70


def epochs_in(file):
    with np.load(file, allow_pickle=False) as held:
        return json.loads(str(held["values"]))["epochs"]


@pytest.mark.dear
def test_the_best_network_is_exported(capsys, tmp_path):
    code, out, err = search(capsys, "--budget", "2", "--export", "best.pt2", "--out", "run")
    assert (code, err) == (0, "") and "exported: best.pt2, for batches of any size" in out
    net, _ = load_network(tmp_path / "run" / "network.npz")
    x = torch.linspace(0, 1, 80).view(5, 1, 4, 4)
    with torch.no_grad():
        assert torch.equal(torch.export.load("best.pt2").module()(x), net(x))
    assert json.loads((tmp_path / "run" / "result.json").read_text())["exports"] == ["best.pt2"]


@pytest.mark.dear
def test_each_network_is_trained_within_a_budget_of_memory(capsys, tmp_path):
    code, out, _ = search(capsys, "--budget", "2", "--memory", "8MiB")
    card = json.loads((tmp_path / "convnet-mine-random-seed0" / "result.json").read_text())["card"]
    assert code == 0 and card["memory"]["budget_bytes"] == 2**23 >= card["memory"]["peak_bytes"] > 2**18
    code, out, err = search(capsys, "--budget", "2", "--memory", "9KiB", "--out", "small")
    assert code == 1 and "OutOfMemory: memory: of the budget of 9.00 KiB" in out + err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--export", "net.pt"], "--export: expected a file that ends in .pt2 or .onnx, got 'net.pt'"),
        (["--memory", "much"], "--memory: expected a size of memory, such as '8GiB' or a number of bytes, got 'much'"),
        (["--proxy", "synflow"], "lamcts nas train: unrecognized arguments: --proxy synflow"),
        (["--search", "evolutoin"], "--search: expected one of auto, lanas,"),
        (["--space", "convnets"], "did you mean 'convnet'"),
        (["--size", "width=3"], "expected sizes of convnet, stages, got 'width'"),
        (["--size", "stages"], "--size: expected NAME=VALUE"),
        (["--recipe", "epoch=3"], "did you mean 'epochs'"),
        (["--data", "tinyshakespeare"], "LAMCTS_DATA"),
        (["--data", "digit"], "did you mean 'digits'"),
    ],
)
def test_mistakes_are_told_with_their_cure(capsys, more, told):
    code, _, err = search(capsys, *more)
    assert code == 2 and told in err


def test_values_are_numbers_truths_and_words():
    told = values_of("--recipe", ["epochs=6", "rate=1e-2", "flip=True", "optimiser=adamw", "drops=(0.5, 0.8)"])
    assert told == {"epochs": 6, "rate": 0.01, "flip": True, "optimiser": "adamw", "drops": (0.5, 0.8)}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_sizes_that_its_networks_take(name):
    from lamcts.neural.build import build

    space = KINDS[name].make()
    assert build(space, space.random(np.random.default_rng(0)), channels=1, **KINDS[name].sizes)
