"""Recipes of papers: what the thesis prints, and the networks that they build."""

import numpy as np
import pytest
from commands import said

from lamcts.neural.cli.trained import KINDS
from lamcts.neural.train import preset
from lamcts.neural.train.presets import PRESETS


def test_lanet_is_trained_as_by_darts_for_600_epochs():
    small, large = preset("lanet-s"), preset("lanet-l")
    recipe = small.recipe
    assert (recipe.epochs, recipe.batch, recipe.rate, recipe.decay) == (600, 96, 0.025, 3e-4)
    assert (recipe.cutout, recipe.crop, recipe.flip, recipe.drop_path, recipe.clip) == (16, 4, True, 0.2, 5.0)
    assert (small.sizes["width"], large.sizes["width"]) == (36, 128) and large.recipe == recipe
    assert (preset("lanet-l-cutmix").recipe.cutout, preset("lanet-l-cutmix").recipe.cutmix) == (0, 1.0)


def test_recurrent_cells_have_the_sizes_and_dropouts_of_the_thesis():
    found = preset("penn-treebank")
    assert found.sizes == {"width": 300, "dropout": (0.2, 0.75, 0.25, 0.75)}
    assert (found.recipe.batch, found.recipe.decay) == (256, 3e-7)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_sizes_of_its_space(name):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    from lamcts.neural.build.build import check_sizes, maker_of

    found, space = preset(name), KINDS[preset(name).space].make()
    check_sizes(space, found.sizes, "build")
    with torch.device("meta"):
        assert maker_of(space)(space, space.random(np.random.default_rng(0)), 3, 10, **found.sizes)


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match=r"preset: expected one of lanet-s, .*, got 'lanet'"):
        preset("lanet")


def test_the_command_line_takes_a_preset_whose_settings_options_change(capsys, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    words = ["nas", "train", "--budget", "1", "-o", str(tmp_path / "run")]
    _, _, error = said(capsys, *words, "--space", "convnet", "--preset", "lanet-s")
    assert "--preset: expected one of convnet, got 'lanet-s', of --space nasnet" in error
    changed = {"--recipe": ("epochs=1", "cutout=2", "batch=512"), "--size": ("width=2", "cells=1")}
    small = [word for name, values in changed.items() for value in values for word in (name, value)]
    code, _, error = said(capsys, *words, "--space", "nasnet", "--preset", "lanet-s", *small)
    assert code == 0, error
    from lamcts.neural.train import load_network

    _, card = load_network(tmp_path / "run" / "network.npz")
    assert (card["recipe"]["clip"], card["recipe"]["epochs"]) == (5.0, 1)
    assert (card["build"]["width"], card["build"]["cells"]) == (2, 1)
