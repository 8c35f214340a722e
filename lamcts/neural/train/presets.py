"""Recipes of papers, with the sizes of their networks, by name. No torch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lamcts.neural.train.recipe import Recipe

DARTS = Recipe(  # of Liu et al. 2018, arXiv 1806.09055, for the final training on CIFAR-10
    epochs=600,
    batch=96,
    rate=0.025,
    nesterov=False,
    decay=3e-4,
    crop=4,
    flip=True,
    cutout=16,
    drop_path=0.2,
    clip=5.0,
)
# Batch and decay: thesis 9.2. The rest is that of `lamcts nas train --space rnn`, untuned.
PENN_TREEBANK = Recipe(batch=256, optimiser="adamw", rate=5e-3, decay=3e-7, clip=0.25)


@dataclass(frozen=True)
class Preset:
    """Training settings of a paper."""

    recipe: Recipe
    sizes: Mapping[str, object]
    space: str
    source: str


LANET = (  # where the settings are from
    "thesis 9.1.1: 600 epochs with the training of DARTS, here without its auxiliary head; AutoAugment and the cells "
    "themselves (figure 9.1) are missing"
)
PRESETS = {  # by name
    "lanet-s": Preset(DARTS, {"width": 36, "cells": 20}, "nasnet", LANET),
    "lanet-l": Preset(DARTS, {"width": 128, "cells": 20}, "nasnet", LANET),
    "lanet-l-cutmix": Preset(replace(DARTS, cutout=0, cutmix=1.0), {"width": 128, "cells": 20}, "nasnet", LANET),
    "penn-treebank": Preset(
        PENN_TREEBANK,
        {"width": 300, "dropout": (0.2, 0.75, 0.25, 0.75)},
        "rnn",
        "thesis 9.2: width, batch, weight decay and dropouts; optimizer, rate, clipping and epochs are not given there",
    ),
}


def preset(name: str) -> Preset:
    """Return the recipe and the sizes of a paper.

    Parameters
    ----------
    name : str
        "lanet-s", "lanet-l" or "lanet-l-cutmix" (thesis 9.1, CIFAR-10), or "penn-treebank" (thesis 9.2).
    """
    if name not in PRESETS:
        raise ValueError(f"preset: expected one of {', '.join(PRESETS)}, got {name!r}")
    return PRESETS[name]
