"""What building an architecture step by step is: states, the moves of each, and the point that a last state stands for.

Letters: n rows, d coordinates, k features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lamcts.spaces import Parameters
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.spaces.base import Space

State = Any  # whatever a game likes, unchangeable


class Game(Protocol):
    """The building of points of one space. States and moves are its own business; a state without moves is terminal."""

    @property
    def root(self) -> State:
        """What there is before the first move."""

    @property
    def single(self) -> bool:
        """Whether each terminal state stands for one point alone; else `row` draws one of several."""

    def moves(self, state: State) -> Sequence[Any]:
        """Return the moves of a state, always in the same order; none where it is terminal."""

    def after(self, state: State, move: Any) -> State:
        """Return the state that a move leads to."""

    def row(self, state: State, rng: np.random.Generator) -> Floats:
        """Return the valid x [d] of a terminal state."""

    def features(self, x: Floats) -> Floats:
        """Return what the meta-DNN sees of rows `x` [n, d], [n, k]."""


class Actions(Protocol):
    """Frozen settings of a way to build; a dataclass of plain values, since its `repr` is part of the signature."""

    def game(self, space: "Space") -> Game:
        """Return the game whose terminal states stand for points of `space`."""


@dataclass(frozen=True)
class Assign:
    """Give the parameters of any space their values, one after the other, in the order of the space.

    parts: what a number with more levels than this is cut in (8; parts), of which a move picks one; the number is then
        drawn inside it; untuned.
    """

    parts: int = 8

    def __post_init__(self) -> None:
        if self.parts < 2:
            raise ValueError(f"Assign: parts: expected at least 2, got {self.parts}")

    def game(self, space: "Space") -> Game:
        return _Assigning(Parameters(space), self.parts)


class _Assigning:
    """A state is the numbers of the values given so far."""

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

    def after(self, state: State, move: Any) -> State:
        return (*state, move)

    def row(self, state: State, rng: np.random.Generator) -> Floats:
        codes = [self._code(i, move, rng) for i, move in enumerate(state)]
        x: Floats = self._parameters.rows(np.array([codes]))[0]
        return x

    def _code(self, i: int, move: int, rng: np.random.Generator) -> float:
        """Return a value of parameter `i`: that of the move, or one drawn in the part that it names."""
        levels = self._parameters.levels[i]
        if levels is not None and self._whole[i]:
            return float(levels[move])
        place = (move + rng.random()) / self._parts
        return place if levels is None else float(levels[int(place * len(levels))])

    def features(self, x: Floats) -> Floats:
        return x
