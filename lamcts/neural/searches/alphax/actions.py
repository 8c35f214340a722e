"""Sequential construction of architectures: states, moves, and the point of a terminal state.

Letters: n rows, d coordinates, k features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lamcts.spaces import Parameters
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.spaces.base import SearchSpace

State = Any  # any immutable value
Move = Any


class Game(Protocol):
    """Construction of the points of one space. A state without moves is terminal."""

    @property
    def root(self) -> State:
        """The state before the first move."""

    @property
    def single(self) -> bool:
        """Whether each terminal state is one point; else `row` draws one of several."""

    def moves(self, state: State) -> Sequence[Move]:
        """Return the moves of a state in a fixed order; none if it is terminal."""

    def after(self, state: State, move: Move) -> State:
        """Return the state after a move."""

    def row(self, state: State, rng: np.random.Generator) -> Floats:
        """Return a valid row x [d] of a terminal state."""

    def features(self, x: Floats) -> Floats:
        """Return the features [n, k] of rows `x` [n, d] for the surrogate."""


class Actions(Protocol):
    """Settings of a construction: a frozen dataclass of plain values, since its `repr` is part of the signature."""

    def game(self, space: "SearchSpace") -> Game:
        """Return the game whose terminal states are points of `space`."""


@dataclass(frozen=True)
class Assign:
    """Assign the parameters of any space one after the other, in the order of the space.

    parts: intervals that a parameter with more values than this is cut into (8); untuned.
    """

    parts: int = 8

    def __post_init__(self) -> None:
        if self.parts < 2:
            raise ValueError(f"Assign: parts: expected at least 2, got {self.parts}")

    def game(self, space: "SearchSpace") -> Game:
        return _Assigning(Parameters(space), self.parts)


class _Assigning:
    """Assignment of parameters; a state is the tuple of moves so far."""

    root = ()

    def __init__(self, parameters: Parameters, parts: int) -> None:
        self._parameters, self._parts = parameters, parts
        listed = zip(parameters.levels, parameters.categorical, strict=True)
        self._whole = [levels is not None and (bool(cat) or len(levels) <= parts) for levels, cat in listed]
        counts = zip(parameters.levels, self._whole, strict=True)
        self._moves = [range(len(levels)) if whole and levels is not None else range(parts) for levels, whole in counts]
        self.single = all(self._whole)

    def moves(self, state: State) -> Sequence[int]:
        return self._moves[len(state)] if len(state) < len(self._moves) else ()

    def after(self, state: State, move: Move) -> State:
        return (*state, move)

    def row(self, state: State, rng: np.random.Generator) -> Floats:
        codes = [self._code(i, move, rng) for i, move in enumerate(state)]
        x: Floats = self._parameters.rows(np.array([codes]))[0]
        return x

    def _code(self, i: int, move: int, rng: np.random.Generator) -> float:
        """Return a value of parameter `i`: the selected one, or a draw from the selected interval."""
        levels = self._parameters.levels[i]
        if levels is not None and self._whole[i]:
            return float(levels[move])
        place = (move + rng.random()) / self._parts
        return place if levels is None else float(levels[int(place * len(levels))])

    def features(self, x: Floats) -> Floats:
        return x
