"""What a scheme sees of a bucket besides the gradients, and the seconds by stage."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor


class Clock:
    """Seconds by stage, "pick", "encode", "send" and "decode", by a function that returns the time."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._now = now

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add the seconds of a block to a stage."""
        start = self._now()
        yield
        self.seconds[stage] += self._now() - start


@dataclass
class Bucket:
    """Parameters whose gradients are reduced together, in a step."""

    keys: tuple[int, ...]  # the parameters, by number
    shapes: tuple[torch.Size, ...]  # in the order of the flat gradient
    step: int = 0  # steps before this one
    seed: int = 0  # of random numbers
    kept: dict[int, Tensor] = field(default_factory=dict)  # what a scheme keeps, by parameter; equal on all workers
    clock: Clock = field(default_factory=Clock)  # seconds by stage
    rest: bool = True  # whether the gradients have to become what was not sent
    sent: list[Tensor] = field(default_factory=list)  # indices that each worker of this process sent; of sparse schemes

    @property
    def sizes(self) -> list[int]:
        """Numbers of elements of the parameters."""
        return [shape.numel() for shape in self.shapes]

    def spread(self, numbers: Tensor) -> Tensor:
        """Return a number of each parameter for each of its elements."""
        sizes = torch.tensor(self.sizes, device=numbers.device)
        return torch.repeat_interleave(numbers, sizes, output_size=sum(self.sizes))

    def generator(self, rank: int, device: torch.device) -> torch.Generator:
        """Return a generator of this worker, bucket and step."""
        words = np.random.SeedSequence([self.seed, self.step, self.keys[0], rank]).generate_state(1, np.uint64)
        return torch.Generator(device).manual_seed(int(words[0]) >> 1)
