"""Ranks of mpi4py: the messages of the same program between processes."""

from collections.abc import Callable
from typing import Any

from lamcts.errors import MissingExtra, install
from lamcts.movement.linalg.comm import Handle, Wait, sent_copy, words_of
from lamcts.movement.linalg.words import Counter


def world() -> Any:
    """Return the communicator of all MPI processes; MissingExtra without mpi4py."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise MissingExtra(
            f"this needs mpi4py and an MPI library, got {error}: {install('mpi')}, "
            "or pip install mpi4py on a machine with an MPI of its own"
        ) from None
    return MPI.COMM_WORLD


class MpiComm:
    """A rank that is a process of MPI."""

    def __init__(self, mpi: Any, steps: int) -> None:
        self.rank, self.size = int(mpi.Get_rank()), int(mpi.Get_size())
        self.counter, self._mpi, self._sent = Counter(steps), mpi, list[Any]()

    def at(self, step: int, kind: str) -> None:
        self.counter.at(step, kind)
        self._sent = [request for request in self._sent if not request.Test()]

    def run(self, kernel: Callable[..., Any], *data: Handle) -> Handle:
        return kernel(*data)

    def send(self, data: Handle, to: int) -> None:
        self._sent.append(self._mpi.isend(sent_copy(data), dest=to))

    def receive(self, source: int) -> Wait:
        yield from ()  # a generator, as that of virtual ranks, which never waits
        data = self._mpi.recv(source=source)
        self.counter.add(words_of(data))
        return data

    def finish(self) -> None:
        """Wait until all messages have been received."""
        for request in self._sent:
            request.wait()
        self._sent = []


def run_rank(program: Wait) -> Any:
    """Return the result of the program of this rank."""
    try:
        next(program)
    except StopIteration as end:
        return end.value
    raise RuntimeError("expected a program that never waits, got one that does")
