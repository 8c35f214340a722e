"""Virtual ranks in one process: each is a coroutine, and every message is counted as it arrives."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

from lamcts.movement.linalg.comm import Comm, Handle, Wait, sent_copy, words_of
from lamcts.movement.linalg.words import Counter

Program = Callable[[Comm], Wait]


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
