"""Seeds of a training: four streams that can be varied separately."""

from enum import IntEnum
from typing import NamedTuple

from lamcts.rng import derive
from lamcts.types import whole_number


class Use(IntEnum):
    """Keys of the streams. They are part of every recipe's results: never reuse or renumber them."""

    WEIGHTS = 0
    ORDER = 1
    AUGMENTATION = 2
    NOISE = 3


class Seeds(NamedTuple):
    """Seeds of a training.

    Attributes
    ----------
    weights : int
        Of the initial weights.
    order : int
        Of the order of examples.
    augmentation : int
        Of image augmentation.
    noise : int
        Of random layers, such as dropped paths.
    """

    weights: int
    order: int
    augmentation: int
    noise: int

    @classmethod
    def of(cls, seed: "int | Seeds") -> "Seeds":
        """Derive four seeds from one; return given `Seeds` unchanged."""
        if isinstance(seed, Seeds):
            return seed
        known = whole_number(seed, "seed", least=0)
        return cls(*(derive(known, use) for use in Use))


def in_epoch(seed: int, epoch: int) -> int:
    """Return the seed of an epoch, independent of earlier draws, so that a training can resume at any epoch."""
    return derive(seed, epoch)
