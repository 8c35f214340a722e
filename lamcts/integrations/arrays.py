"""Functions of arrays for a search whose points may be something else; they travel to other processes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Call:
    """`func(x, *args)` of an array of its own, which it may change."""

    func: Callable[..., Any]
    args: tuple[Any, ...] = ()

    def __call__(self, point: Any, *args: Any) -> Any:
        return self.func(np.array(point, float), *self.args, *args)

    @property
    def name(self) -> str:
        return str(getattr(self.func, "__qualname__", type(self.func).__name__))


@dataclass(frozen=True)
class StackedCall:
    """A function of a list of points, by one that takes an array [n, s]."""

    call: Call

    def __call__(self, points: list[Any]) -> Any:
        return np.asarray(self.call(np.array(points, float).T)).reshape(-1)

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class MappedCall:
    """A function of a list of points, by something like `map`."""

    call: Call
    map: Callable[..., Any]

    def __call__(self, points: list[Any]) -> list[Any]:
        return list(self.map(_Caught(self.call), points))

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class _Caught:
    """A call whose exception is its value: one point that fails leaves the others."""

    call: Call

    def __call__(self, point: Any) -> Any:
        try:
            return self.call(point)
        except Exception as error:
            return error
