"""The communicator protocol: all that the factorisation knows of other ranks."""

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lamcts.errors import MissingExtra, install
from lamcts.types import Rows

KINDS = ("columns", "tournament", "pivots", "rows", "panels")  # stages of a step
Array = NDArray[Any]
Handle = Any  # an array, a tuple of arrays, or a task that will compute them
Wait = Generator[int, None, Any]  # a program of a rank: it yields the rank from which it waits for a message


@dataclass(frozen=True, eq=False)
class Words:
    """Words received by rank, step and kind, `counts` of shape (ranks, steps, kinds); an index counts as a word."""

    counts: Rows

    @property
    def by_rank(self) -> Rows:
        """Words of each rank."""
        return np.asarray(self.counts.sum((1, 2)))

    @property
    def by_step(self) -> Rows:
        """Words of all ranks in each step."""
        return np.asarray(self.counts.sum((0, 2)))

    @property
    def by_kind(self) -> dict[str, int]:
        """Words of all ranks by kind."""
        return dict(zip(KINDS, map(int, self.counts.sum((0, 1))), strict=True))

    @property
    def total(self) -> int:
        """Words of all ranks."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean words of a rank."""
        return self.total / len(self.counts)

    @property
    def most(self) -> int:
        """Words of the rank that receives most."""
        return int(self.by_rank.max())


class Counter:
    """The words that one rank has received, by step and kind."""

    def __init__(self, steps: int) -> None:
        self.counts = np.zeros((steps, len(KINDS)), int)
        self._place = (0, 0)

    def at(self, step: int, kind: str) -> None:
        """Count what follows under a step and a kind."""
        self._place = (step, KINDS.index(kind))

    def add(self, words: int) -> None:
        """Count received words."""
        self.counts[self._place] += words


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


class Post:
    """The messages between ranks that have been sent and not received, and the ranks that wait for one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ready: deque[int] = deque(range(size))
        self._boxes: defaultdict[tuple[int, int], deque[Handle]] = defaultdict(deque)
        self._waiting: set[tuple[int, int]] = set()

    def put(self, source: int, to: int, data: Handle) -> None:
        """Deliver a message, and wake the rank that waits for it."""
        self._boxes[source, to].append(data)
        if (source, to) in self._waiting:
            self._waiting.remove((source, to))
            self.ready.append(to)

    def has(self, source: int, to: int) -> bool:
        """Return whether a message is there."""
        return bool(self._boxes[source, to])

    def take(self, source: int, to: int) -> Handle:
        """Return the oldest message."""
        return self._boxes[source, to].popleft()

    def wait(self, source: int, to: int) -> None:
        """Put a rank to sleep until a message comes."""
        self._waiting.add((source, to))

    @property
    def waiting(self) -> list[tuple[int, int]]:
        """Pairs of a source and the rank that waits for it."""
        return sorted(self._waiting)


class VirtualComm:
    """A rank of several in this process."""

    def __init__(self, post: Post, rank: int, steps: int) -> None:
        self.rank, self.size = rank, post.size
        self.counter, self._post = Counter(steps), post

    def at(self, step: int, kind: str) -> None:
        self.counter.at(step, kind)

    def run(self, kernel: Callable[..., Any], *data: Handle) -> Handle:
        return kernel(*data)

    def send(self, data: Handle, to: int) -> None:
        self._post.put(self.rank, to, sent_copy(data))

    def receive(self, source: int) -> Wait:
        if not self._post.has(source, self.rank):
            yield source
        data = self._post.take(source, self.rank)
        self.counter.add(words_of(data))
        return data


def run_ranks(post: Post, programs: Sequence[Wait]) -> list[Any]:
    """Return the results of the programs of all ranks, each run until it waits for a message."""
    results: dict[int, Any] = {}
    while post.ready:
        rank = post.ready.popleft()
        try:
            post.wait(next(programs[rank]), rank)
        except StopIteration as end:
            results[rank] = end.value
    if len(results) < len(programs):
        raise RuntimeError(f"expected messages for every rank, got none for (source, rank) in {post.waiting[:4]}")
    return [results[rank] for rank in range(len(programs))]


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
