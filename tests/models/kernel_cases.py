"""What the tests of the kernel share: spaces of each kind, one with a switch, and the kernel pair by pair."""

import math
from typing import Any

import numpy as np

from lamcts.models.coding import Coding
from lamcts.models.kernel import Hyper
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.priors import KernelPrior
from lamcts.outcomes.observations import Observations
from lamcts.spaces import Bool, Choice, Float, Int, Space
from lamcts.spaces.base import EncodedSpace
from lamcts.spaces.parameters import Mask, Parameters
from lamcts.types import Floats


class Switched(Space):
    """The second and third parameters have a say only where the first is on."""

    def active(self, z: Floats) -> Mask:
        result = np.ones(z.shape, bool)
        result[:, 1:3] = z[:, :1] == 1.0
        return result


class Sides(EncodedSpace):
    """Two values, whose codes are not the numbers of their options."""

    dim = 1
    size = 2.0

    def snap(self, x: Floats) -> Floats:
        return np.where(x < 0.5, 0.25, 0.75)

    def spread(self, u: Floats) -> Floats:
        return self.snap(u)

    def rows(self) -> Floats:
        return np.array([[0.25], [0.75]])


SWITCHED = Switched([Bool(), Choice(list("abc")), Float(0, 1), Choice(list("wxyz")), Int(0, 9)])
SPACES: dict[str, Space] = {
    "categories": Space([Choice(list("abc")), Bool(), Choice(list("wxyz"))]),
    "numbers": Space([Float(0, 1), Int(0, 10), Float(2, 3)]),
    "mixed": Space([Float(0, 1), Choice(list("abc")), Choice(["constant"]), Int(0, 10), Bool(), Int(3, 3)]),
    "switched": SWITCHED,
    "others": Space([Choice(list("abc")), Sides(), Choice(list("ab"), ordered=True), Int(3, 4, log=True)]),
    "wide": Space([Int(1, 2**60), Choice(list("ab"))]),
}


def made(name: str, n: int, seed: int = 0) -> tuple[Parameters, Coding, Floats]:
    """Return parameters, coding, and the codes of `n` rows of a space."""
    parameters = Parameters(SPACES[name])
    return parameters, Coding(parameters), parameters.draw(n, np.random.default_rng(seed))


def some_hyper(coding: Coding, seed: int = 1, noise: float = 0.02) -> Hyper:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 1.5, coding.n_categories)
    return Hyper(rng.uniform(0.2, 0.9, coding.n_numbers), noise, weights)


def pair(parameters: Parameters, hyper: Hyper, z: Floats, t: Floats) -> float:
    """Return the kernel of two rows of codes [p], parameter by parameter."""
    on, there = parameters.active(z[None])[0], parameters.active(t[None])[0]
    weights, lengths = iter(hyper.weights), iter(hyper.lengths)
    moving = [int(i) for i in np.flatnonzero(parameters.non_constant)]
    total = square = 0.0
    for i in moving:
        if parameters.categorical[i]:
            same = z[i] == t[i] if on[i] and there[i] else on[i] == there[i]
            total += next(weights) * (not same)
    for i in moving:
        if not parameters.categorical[i]:
            if parameters.may_be_inactive:
                total += next(weights) * (on[i] != there[i])
            gap = (z[i] if on[i] else 0.5) - (t[i] if there[i] else 0.5)
            square += (gap / next(lengths)) ** 2
    root = math.sqrt(5.0 * square)
    assert next(weights, None) is next(lengths, None) is None
    return math.exp(-total - root) * (1.0 + root + root * root / 3.0)


def matrix(parameters: Parameters, hyper: Hyper, z: Floats, t: Floats) -> Floats:
    return np.array([[pair(parameters, hyper, one, other) for other in t] for one in z])


def slope_of(function: Any, at: Floats, step: float = 1e-6) -> Floats:
    """Return the central differences of a function of a vector."""
    result = np.empty(at.shape)
    for i in range(len(at)):
        ahead, back = at.copy(), at.copy()
        ahead[i] += step
        back[i] -= step
        result[i] = (function(ahead) - function(back)) / (2 * step)
    return result


class SpaceModel(LocalModel):
    """A local model over parameters of any kind, with their coding."""

    def __init__(self, seen: Observations, parameters: Parameters, state: ModelState) -> None:
        self.parameters, self.coding = parameters, Coding(parameters)
        super().__init__(seen, self.coding.inputs, KernelPrior.of_space(parameters), state)
