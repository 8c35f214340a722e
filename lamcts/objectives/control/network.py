"""Policies: linear ones, and layers with tanh between them. Letters: s states, a outputs, h hidden numbers.

A linear policy is W ((state - mean) / std), as in ARS (Mania, Guy and Recht 2018): actions are not clipped, and an
input that does not vary is switched off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.control.moments import Moments
from lamcts.types import Floats, Json

Action = int | NDArray[np.float64] | NDArray[np.float32]
STILL = 1e-7  # standard deviation below which ARS takes an input for constant
Layers = tuple[tuple[Floats, Floats], ...]  # weights [outputs, inputs] and bias [outputs] of each


@dataclass(frozen=True)
class Discrete:
    """One of n actions: the one whose number is the largest, of equal ones the first."""

    n: int
    start: int = 0

    @property
    def outputs(self) -> int:
        return self.n

    def scaled(self, w: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Return the last layer as it is."""
        return w, bias

    def act(self, output: Floats) -> int:
        return self.start + int(np.argmax(output))

    def to_json(self) -> Json:
        return {"kind": "discrete", "n": self.n, "start": self.start}


@dataclass(frozen=True)
class Bounded:
    """Numbers between bounds: an output of -1 is the lower bound, one of 1 the upper one; others are clipped."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def outputs(self) -> int:
        return len(self.low)

    def scaled(self, w: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """Return the last layer in the units of the bounds."""
        low, high = np.array(self.low), np.array(self.high)
        held = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(held, low, -1.0), np.where(held, high, 1.0)
        half, middle = (high - low) / 2, (high + low) / 2
        return w * half[:, None], bias * half + middle

    def act(self, output: Floats) -> Action:
        action: Action = np.clip(output, self.low, self.high).reshape(self.shape).astype(self.dtype)
        return action

    def to_json(self) -> Json:
        """Return the bounds; None for an infinite one, which JSON has no number for."""
        ends = [[x if np.isfinite(x) else None for x in side] for side in (self.low, self.high)]
        return {"kind": "box", "low": ends[0], "high": ends[1], "shape": list(self.shape), "dtype": self.dtype}


Actions = Discrete | Bounded


def actions_of(space: object, env: str) -> Actions:
    """Return the actions of a gymnasium space; ValueError for one that is neither Discrete nor a Box of numbers."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n), int(space.start))
    if not isinstance(space, spaces.Box) or not np.issubdtype(space.dtype, np.floating):
        raise ValueError(f"expected an environment with Discrete actions or a Box of numbers, got {space} in {env}")
    low, high = space.low.ravel().tolist(), space.high.ravel().tolist()
    return Bounded(tuple(low), tuple(high), tuple(space.shape), space.dtype.name)


def actions_from_json(held: Json) -> Actions:
    """Return what `to_json` wrote."""
    if held["kind"] == "discrete":
        return Discrete(int(held["n"]), int(held["start"]))
    low = tuple(-np.inf if x is None else float(x) for x in held["low"])
    high = tuple(np.inf if x is None else float(x) for x in held["high"])
    return Bounded(low, high, tuple(map(int, held["shape"])), str(np.dtype(held["dtype"])))


@dataclass(frozen=True, eq=False)
class LinearPolicy:
    """Weights `w` [a, s], and what is taken off the state and what it is multiplied by, both [s]."""

    w: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, weights: ArrayLike, states: int, actions: int, moments: Moments | None = None) -> "LinearPolicy":
        """Return the policy of the flat `weights` [actions * states], row by row; no moments: states as they are."""
        flat = np.array(weights, float)
        if flat.shape != (states * actions,):
            raise ValueError(
                f"expected {states * actions} weights in one row ({actions} actions x {states} states), "
                f"got shape {list(flat.shape)}"
            )
        plain = cls(flat.reshape(actions, states), np.zeros(states), np.ones(states))
        return plain if moments is None else plain.scaled(moments)

    def scaled(self, moments: Moments) -> "LinearPolicy":
        """Return the same weights on states standardised by `moments`."""
        std = moments.std
        moving = std >= STILL
        return replace(self, mean=moments.mean, scale=np.where(moving, 1 / np.where(moving, std, 1), 0))

    def action(self, state: Floats) -> Floats:
        return np.asarray(self.w @ ((state - self.mean) * self.scale))  # [a]


@dataclass(frozen=True, eq=False)
class Network:
    """Layers, and what the last one's numbers are made into (None: nothing, they are the action)."""

    layers: Layers
    actions: Actions | None = None

    def action(self, state: Floats) -> Action:
        x = state
        for w, bias in self.layers[:-1]:
            x = np.tanh(w @ x + bias)
        w, bias = self.layers[-1]
        output = w @ x + bias
        return output if self.actions is None else self.actions.act(output)

    def to_json(self) -> Json:
        """Return `w` and `bias` of a linear policy, else `layers` that have them."""
        layers = [{"w": w.tolist(), "bias": bias.tolist()} for w, bias in self.layers]
        held: Json = layers[0] if len(layers) == 1 else {"layers": layers, "between": "tanh"}
        return held if self.actions is None else {**held, "actions": self.actions.to_json()}

    @classmethod
    def from_json(cls, held: Json) -> "Network":
        """Return the policy that `to_json`, or a gait, has written. ValueError where it is none."""
        try:
            rows = [(np.array(one["w"], float), np.array(one["bias"], float)) for one in held.get("layers", [held])]
            actions = None if "actions" not in held else actions_from_json(held["actions"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"expected a policy as result.json holds it, got another content ({error})") from None
        fit = [w.ndim == 2 and bias.shape == (len(w),) for w, bias in rows]
        if not rows or not all(fit) or any(len(w) != len(after.T) for (w, _), (after, _) in pairwise(rows)):
            got = ", then ".join(f"{list(w.shape)} and {list(bias.shape)}" for w, bias in rows) or "none"
            expected = "layers with w [outputs, inputs] and bias [outputs], as many inputs as the last had outputs"
            raise ValueError(f"expected {expected}, got {got}")
        return cls(tuple(rows), actions)


@dataclass(frozen=True)
class Form:
    """Sizes of a network: states, hidden layers and outputs, and the seed of its hidden layers at the start."""

    states: int
    hidden: tuple[int, ...]
    outputs: int
    hidden_seed: int = 0

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Outputs and inputs of each layer."""
        every = [self.states, *self.hidden, self.outputs]
        return list(zip(every[1:], every[:-1], strict=True))

    @property
    def dim(self) -> int:
        """The number of coordinates of a point: each row of weights has a bias."""
        return sum(out * (inputs + 1) for out, inputs in self.sizes)

    def layers(self, point: ArrayLike) -> Layers:
        """Return the layers of a `point` [dim]: what hidden ones begin with, and the point on top.

        Hidden layers start with random features: were they zero too, no single change of a weight would change the
        policy.
        """
        flat = np.array(point, float)
        if flat.shape != (self.dim,):
            raise ValueError(f"expected {self.dim} weights in one row, got shape {list(flat.shape)}")
        layers, at = [], 0
        for (out, inputs), base in zip(self.sizes, self._bases(), strict=True):
            rows = flat[at : at + out * (inputs + 1)].reshape(out, inputs + 1)
            layers.append((base + rows[:, :-1], rows[:, -1]))
            at += rows.size
        return tuple(layers)

    def _bases(self) -> Sequence[Floats]:
        """Return the weights that a point is added to: standard normal over the root of the inputs, the last ones 0."""
        rng = np.random.default_rng(self.hidden_seed)
        drawn: list[Floats] = [rng.standard_normal(size) / np.sqrt(size[1]) for size in self.sizes[:-1]]
        return [*drawn, np.zeros(self.sizes[-1])]


def network_of(form: Form, point: ArrayLike, moments: Moments | None, actions: Actions) -> Network:
    """Return the policy of a point, on states standardised by `moments` and in the units of the actions."""
    first, *rest = form.layers(point)
    eyes = LinearPolicy(first[0], np.zeros(form.states), np.ones(form.states))
    eyes = eyes if moments is None else eyes.scaled(moments)
    seen = eyes.w * eyes.scale
    layers = [(seen, first[1] - seen @ eyes.mean), *rest]
    return Network((*layers[:-1], actions.scaled(*layers[-1])), actions)
