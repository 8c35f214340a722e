"""Action spaces of environments, and how the outputs of a policy become an action."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats, Json

Action = int | NDArray[np.float64] | NDArray[np.float32]


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
