"""The communicator protocol: all that the factorisation knows of other ranks."""

from collections.abc import Callable, Generator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Handle = Any  # an array, a tuple of arrays, or a task that will compute them
Wait = Generator[int, None, Any]  # a program of a rank: it yields the rank from which it waits for a message


class Comm(Protocol):
    """What a rank can do: run a kernel on data of its own, send, and receive."""

    rank: int
    size: int

    def at(self, step: int, kind: str) -> None:
        """Label the messages that follow."""

    def run(self, kernel: Callable[..., Any], *data: Handle) -> Handle:
        """Return the result of a kernel, or a task that will compute it."""

    def send(self, data: Handle, to: int) -> None:
        """Send to another rank; messages between two ranks arrive in order."""

    def receive(self, source: int) -> Wait:
        """Return the next message of another rank."""


def sent_copy(data: Handle) -> Handle:
    """Return arrays as they arrive elsewhere: contiguous, and no view of the sender's."""
    if isinstance(data, tuple):
        return tuple(sent_copy(one) for one in data)
    return np.array(data, order="C", copy=True)


def words_of(data: Handle) -> int:
    """Return the number of elements of a message, indices included."""
    return sum(words_of(one) for one in data) if isinstance(data, tuple) else int(data.size)
