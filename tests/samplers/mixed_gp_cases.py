"""What the tests of the exchange search share: spaces, losses, and a search that has gone on for a while."""

import numpy as np

from lamcts.samplers.mixed_gp import MixedGp
from lamcts.spaces import Bool, Choice, Finite, Float, Int, Space
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Mask
from lamcts.testing.search import Loss, Search
from lamcts.types import Floats

BITS = Space([Bool() for _ in range(12)])
TARGET = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1])
WORDS = Space([Choice(list("abcde")) for _ in range(4)])
ORDERS = [[3, 0, 4, 1, 2], [1, 4, 2, 3, 0], [2, 1, 0, 4, 3], [4, 3, 1, 0, 2]]
TABLE = Finite(np.random.default_rng(0).random((400, 3)))
MIXED = Space({"kind": Choice(list("abcd")), "skip": Bool(), "rate": Float(0, 1)})


class Switched(Space):
    """The second and third parameters have a say only where the first is on."""

    def active(self, z: Floats) -> Mask:
        result = np.ones(z.shape, bool)
        result[:, 1:3] = z[:, :1] == 1.0
        return result


SWITCHED = Switched([Bool(), Choice(list("abc")), Float(0, 1), Choice(list("wxyz")), Int(0, 9)])


def flipped(x: Floats) -> float:
    return float(np.abs(x - TARGET).sum())


def ranks(x: Floats) -> list[int]:
    return [order["abcde".index(word)] for order, word in zip(ORDERS, WORDS.decode(x), strict=True)]


def ranked(x: Floats) -> float:
    first, second, *rest = ranks(x)
    return first + second + sum(rest) + first * second / 4


def mixed(x: Floats) -> float:
    point = MIXED.decode(x)
    return (point["rate"] - 0.37) ** 2 + 0.5 * (point["kind"] != "c") + 0.3 * (not point["skip"])


def bowl(x: Floats) -> float:
    return float(np.square(x - 0.377).sum())


def switched(x: Floats) -> float:
    on, letter, number, word, count = SWITCHED.decode(x)
    own = 0.2 * "abc".index(letter) + 3 * (number - 0.7) ** 2 if on else 0.5
    return float(own + 0.1 * "wxyz".index(word) + 0.05 * abs(count - 3))


def searched(space: SearchSpace, loss: Loss, seed: int, rounds: int, batch: int = 1, given: int = 8) -> Search:
    search = Search(MixedGp(), space, seed, given=given, loss=loss)
    search.go(rounds, batch)
    return search
