"""Simulated workers that compress random gradients: scales, zeros, steps that are not finite, and saved states.

Two trainings get the same gradients, one of them times a power of two. What arrived and what is kept add up to the
gradients. With error feedback everything arrives once gradients are zero.
"""

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.robustness.attacks.verdict import Case, difference, expect, pick
from lamcts.neural import compress

SCHEMES: tuple[tuple[str, dict[str, tuple[Any, ...]]], ...] = (  # options, of which each errs by less than it is given
    ("none", {}),
    ("topk", {"keep": (0.1, 0.3, 1.0), "values": ("fp32", "fp16", "range8", "range3")}),
    ("shared-topk", {"keep": (0.1, 0.3, 1.0), "values": ("fp32", "fp16")}),
    ("fft", {"keep": (0.3, 0.6, 1.0), "values": ("fp32", "fp16", "range10")}),
    ("qsgd", {"bits": (5, 6, 8), "block": (7, 64), "feedback": (True, True, False)}),
    ("terngrad", {"clip": (2.5, math.inf)}),
    ("powersgd", {"rank": (1, 2, 3, 5, 50)}),
)
LONGEST = 1500  # steps with zeros until everything has to be there
CLOSE = 1e-3  # of the largest gradient
ARRIVED = 0.02  # of the norm of all gradients may be left
Gradients = list[list[torch.Tensor | None]]


def check(case: Case, folder: Path, make: Any = compress.SimulatedWorkers) -> int:
    """Play one training; return how many steps it made. `make` builds the workers (a test passes broken ones)."""
    training = Training(case, make)
    for step in range(training.steps):
        training.step(step)
    training.finish()
    return training.made


class Training:
    """A training, the same at another scale, and the sum of all gradients."""

    def __init__(self, case: Case, make: Any) -> None:
        rng = self.rng = case.rng()
        self.scheme, options = SCHEMES[case.number % len(SCHEMES)]
        self.options = {name: pick(rng, of) for name, of in options.items()} | {"seed": int(rng.integers(99))}
        self.workers, self.exponent = int(rng.integers(1, 6)), int(rng.integers(-100, 91))
        self.shapes = [self._shape() for _ in range(int(rng.integers(1, 5)))]
        self.lacking, self.steps = float(pick(rng, (0.0, 0.1, 0.5))), int(rng.integers(3, 12))
        self.saved = int(rng.integers(self.steps))  # the step before which the state is saved and loaded
        self.make = lambda: make(self.scheme, workers=self.workers, **self.options)
        self.usual, self.scaled = self.make(), self.make()
        self.total, self.arrived = (torch.zeros(sum(map(math.prod, self.shapes))) for _ in range(2))
        self.resumed, self.top, self.made = None, 0.0, 0

    def __str__(self) -> str:
        text = f"{self.scheme} with {self.options}, {self.workers} workers, {self.shapes}, scale 2^{self.exponent}"
        return f"{text}, step {self.made}"

    def _shape(self) -> tuple[int, ...]:
        sizes = (0, 1, 1, 2, 3, 5, 8, 13)
        return tuple(int(pick(self.rng, sizes[self.rng.random() < 0.9 :])) for _ in range(int(self.rng.integers(0, 5))))

    def step(self, step: int) -> None:
        """Reduce gradients, now and then those of which one is not finite."""
        if step == self.saved:
            self._resume()
        if self.rng.random() < 0.15 and self.made and len(self.total):
            self._broken()
        given = [[self._gradient(shape) for shape in self.shapes] for _ in range(self.workers)]
        self._reduce(given)

    def _gradient(self, shape: tuple[int, ...]) -> torch.Tensor | None:
        """Return random numbers, often zero, of low rank, of few large numbers, or none."""
        draw = self.rng.random()
        if draw < self.lacking:
            return None if draw < self.lacking / 4 else torch.zeros(shape)
        x = self.rng.normal(size=shape) ** int(pick(self.rng, (1, 3)))
        if len(shape) > 1 and self.rng.random() < 0.3:
            x = x[:1] * np.ones_like(x)
        return torch.as_tensor(np.where(self.rng.random(shape) < pick(self.rng, (1.0, 0.2)), x, 0.0)).float()

    def _reduce(self, given: Gradients) -> None:
        """Reduce gradients in both trainings, and compare."""
        mean = self._flat(self.usual.step(given))
        factor = 2.0**self.exponent
        scaled = self._flat(self.scaled.step([[None if x is None else x * factor for x in one] for one in given]))
        self.made += 1
        if self.resumed is not None:
            other = self._flat(self.resumed.step(given))
            expect(torch.equal(mean, other), f"equal means after a state was loaded of {self}", mean - other)
        expect(bool(mean.isfinite().all()), f"finite means of {self}", mean)
        self.total += sum(map(self._flat, given)) / self.workers
        self.top = max(
            self.top, *(float(x.abs().max()) for one in given for x in one if x is not None and x.numel()), 0.0
        )
        room = CLOSE * max(self.top, float(mean.abs().max()) if len(mean) else 0.0)
        gap = (scaled / factor - mean).abs()
        expect(bool((gap <= room).all()), f"means that scale by powers of two of {self}", gap)
        self.arrived += mean
        if not self.usual.state.feedback:
            expect(self.scheme != "none" or self._near(self.total, room), f"exact means of {self}", self.arrived)
            return
        kept = [[one.get(key) for key in range(len(self.shapes))] for one in self.usual.state.state_dict()["errors"]]
        left = self.total - sum(map(self._flat, kept)) / self.workers
        expect(
            self._near(left, room), f"what arrived and what is kept to be the gradients of {self}", left - self.arrived
        )

    def _near(self, wanted: torch.Tensor, room: float) -> bool:
        return bool(((self.arrived - wanted).abs() <= room).all())

    def _flat(self, tensors: Any) -> torch.Tensor:
        """Return tensors as one vector, 0 for none."""
        pairs = zip(tensors, self.shapes, strict=True)
        return torch.cat([torch.zeros(math.prod(shape)) if x is None else x.reshape(-1) for x, shape in pairs])

    def _broken(self) -> None:
        """Reduce gradients of which one number is not finite: all is nan, and nothing but the step is kept."""
        given = [[torch.ones(shape) for shape in self.shapes] for _ in range(self.workers)]
        place = pick(self.rng, [j for j, shape in enumerate(self.shapes) if math.prod(shape)])
        given[int(self.rng.integers(self.workers))][place].view(-1)[0] = pick(self.rng, (math.nan, math.inf, -math.inf))
        for run in filter(None, (self.usual, self.scaled, self.resumed)):
            before = run.state.state_dict()
            mean = self._flat(run.step(given))
            expect(bool(mean.isnan().all()), f"nan for gradients that are not finite of {self}", mean)
            found = _difference(before | {"step": before["step"] + 1}, run.state.state_dict())
            expect(not found, f"a state without the step that is not finite of {self}", found)

    def _resume(self) -> None:
        """Save the state, and load it into other workers, which go on equal."""
        file = io.BytesIO()
        torch.save(self.usual.state.state_dict(), file)
        file.seek(0)
        self.resumed = self.make()
        self.resumed.state.load_state_dict(torch.load(file, weights_only=True))

    def finish(self) -> None:
        """Send zeros until everything has arrived."""
        if not self.usual.state.feedback:
            return
        enough = ARRIVED * float(self.total.norm()) + CLOSE * self.top
        while float((self.arrived - self.total).norm()) > enough and self.made < LONGEST:
            self.arrived += self._flat(self.usual.step([[torch.zeros(shape) for shape in self.shapes]] * self.workers))
            self.made += 1
        left = float((self.arrived - self.total).norm())
        expect(
            left <= enough, f"all gradients within {LONGEST} steps of {self}", f"{left} of {self.total.norm()} missing"
        )


def _difference(one: Any, other: Any) -> str | None:
    """Return where two states differ."""

    def plain(x: Any) -> Any:
        if isinstance(x, dict):
            return {key: plain(each) for key, each in x.items()}
        if isinstance(x, list):  # a worker without memory has none, or an empty one
            return [plain(each) for each in x if not isinstance(each, dict) or each]
        return x.numpy() if isinstance(x, torch.Tensor) else x

    return difference(plain(one), plain(other))
