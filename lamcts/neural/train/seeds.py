"""Where randomness of a training comes from: four seeds, each of which may be held while another changes."""

from enum import IntEnum
from typing import NamedTuple

from lamcts.rng import derive
from lamcts.types import whole_number


class Use(IntEnum):
    """Parts of a stream's key. Numbers are part of what a recipe gives: never reuse or renumber them."""

    WEIGHTS = 0
    ORDER = 1
    AUGMENTATION = 2
    NOISE = 3


class Seeds(NamedTuple):
    """Seeds of a training.

    weights: of a network's first weights. order: of the order of examples. augmentation: of how images are changed.
    noise: of what a network draws as it trains, such as paths that it drops.
    """

    weights: int
    order: int
    augmentation: int
    noise: int

    @classmethod
    def of(cls, seed: "int | Seeds") -> "Seeds":
        """Return the seeds that one stands for; those that are given as they are."""
        if isinstance(seed, Seeds):
            return seed
        known = whole_number(seed, "seed", least=0)
        return cls(*(derive(known, use) for use in Use))


def in_epoch(seed: int, epoch: int) -> int:
    """Return the seed of an epoch: nothing that was drawn before has a say, so that a run may go on from any epoch."""
    return derive(seed, epoch)
