"""The steps of a compressed reduction: error feedback, warm-up, momentum correction, measurements."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket, Clock
from lamcts.neural.compress.group import Group, Traffic
from lamcts.neural.compress.schemes.base import Dense, Scheme

HEADERS = 670  # bytes of TCP, IP and gloo a message: benchmarks/results/compress_wire.csv


@dataclass(frozen=True)
class Report:
    """Costs and errors of the steps so far."""

    steps: int
    bits: float  # of payloads that a worker receives, for each number
    wire: float  # an estimate of all bits that it receives, for each number: HEADERS bytes a message more
    seconds: dict[str, float]
    error: float | None
    alpha: float | None
    not_finite: int  # buckets with a nan or an infinity on some worker, which became nan on all

    def __str__(self) -> str:
        times = ", ".join(f"{stage} {seconds:.3g} s" for stage, seconds in self.seconds.items())
        error, alpha = ("-" if one is None else f"{one:.3g}" for one in (self.error, self.alpha))
        return (
            f"{self.steps} steps, {self.bits:.3g} bits of payload a number, about {self.wire:.3g} on the wire; "
            f"{times or 'no time'}; relative error {error}, alpha {alpha}; {self.not_finite} buckets not finite"
        )


MOST = 2.0**110  # of what is kept: sums of 2^18 such numbers are finite


class Memory:
    """A vector for each parameter; 0 where nothing was kept yet."""

    def __init__(self) -> None:
        self._parts: dict[int, Tensor] = {}

    def plus(self, bucket: Bucket, flat: Tensor, factor: float = 1.0) -> Tensor:
        """Return a new vector: `factor` times what is kept for a bucket, plus `flat`."""
        if not any(key in self._parts for key in bucket.keys):
            return flat.clone()
        kept = [self._part(key, size, flat) for key, size in zip(bucket.keys, bucket.sizes, strict=True)]
        total = torch.cat(kept)
        return (total if factor == 1 else total.mul_(factor)).add_(flat)

    def keep(self, bucket: Bucket, flat: Tensor) -> None:
        """Keep a vector, cut by parameter, without numbers that would make all later steps overflow."""
        if not float(torch.linalg.vector_norm(flat)) < MOST:
            flat = torch.where(flat.abs() < MOST, flat, 0.0)
        self._parts.update(zip(bucket.keys, torch.split(flat, bucket.sizes), strict=True))

    def state_dict(self) -> dict[int, Tensor]:
        """Return copies of what is kept."""
        return {key: part.clone() for key, part in self._parts.items()}

    def load_state_dict(self, state: Mapping[int, Tensor]) -> None:
        """Keep copies of saved vectors."""
        self._parts = {int(key): part.clone() for key, part in state.items()}

    def _part(self, key: int, size: int, like: Tensor) -> Tensor:
        """Return what is kept for a parameter; ValueError if it has another size."""
        part = self._parts.get(key)
        if part is None:
            return like.new_zeros(size)
        if len(part) != size:
            raise ValueError(
                f"expected {len(part)} numbers in parameter {key}, got {size}: the state is that of another model"
            )
        return part.to(like.device)


class Losses:
    """Sums of squares over buckets and steps."""

    def __init__(self) -> None:
        self._given = self._left = 0.0
        self._mean = self._gap = 0.0  # of this step
        self.alpha: float | None = None

    def sent(self, given: float, left: list[Tensor]) -> None:
        """Add the squared norm of what workers were given, and vectors that they did not send."""
        self._given += given
        self._left += squares(left)

    def reduced(self, mean: Tensor, reduced: Tensor) -> None:
        """Add the true mean of a bucket, and the one that the scheme returned."""
        self._mean += squares([mean])
        self._gap += squares([mean - reduced])

    def end_step(self) -> None:
        """Keep the largest alpha."""
        if self._mean:
            self.alpha = max(self.alpha or 0.0, math.sqrt(self._gap / self._mean))
        self._mean = self._gap = 0.0

    @property
    def error(self) -> float | None:
        """The relative error, or None if nothing was added."""
        return math.sqrt(self._left / self._given) if self._given else None


def squares(vectors: list[Tensor]) -> float:
    """Return the sum of the squares of all elements."""
    return sum(float(torch.linalg.vector_norm(one)) ** 2 for one in vectors)


class State:
    """The progress of a compressed training; `hook` and `SimulatedWorkers` make it.

    Attributes
    ----------
    scheme : Scheme
        The settings of the scheme.
    step : int
        Number of steps so far.
    clock : Clock
        Seconds by stage; `Clock(time.process_time)` measures CPU time.

    Notes
    -----
    A nan or an infinity in the gradient of any worker makes the mean nan in the whole bucket, on all workers. The
    memory of the bucket stays as it was, as if the step had not happened: a `GradScaler` skips such steps. Its scale
    changes the unit of gradients, and the memory keeps the old one for some steps. Numbers above 2^110 are not kept.
    """

    def __init__(
        self, scheme: Scheme, *, feedback: bool | None, warmup: int, momentum: float, measure: int, seed: int
    ) -> None:
        if warmup < 0 or measure < 0:
            raise ValueError(f"expected 0 steps or more, got warmup={warmup}, measure={measure}")
        if not 0 <= momentum < 1:
            raise ValueError(f"expected momentum in [0, 1), got {momentum}")
        if momentum and not scheme.sparse:
            raise ValueError(f"expected momentum=0 for {scheme.name!r}, got {momentum}: only sparse schemes correct it")
        self.scheme, self.warmup, self.momentum, self.measure, self.seed = scheme, warmup, momentum, measure, seed
        self.feedback = scheme.feedback if feedback is None else feedback
        self.step = 0
        self._errors: list[Memory] = []
        self._velocities: list[Memory] = []
        self._kept: dict[int, Tensor] = {}
        self.clock, self._losses = Clock(), Losses()
        self._traffic, self._numbers, self._not_finite = Traffic(), 0, 0

    def reduce(
        self, local: list[Tensor], keys: tuple[int, ...], shapes: tuple[torch.Size, ...], group: Group
    ) -> Tensor:
        """Return the mean gradient of a bucket."""
        self._errors = self._errors or [Memory() for _ in local]
        self._velocities = self._velocities or [Memory() for _ in local]
        if len(self._errors) != len(local):
            raise ValueError(f"expected {len(self._errors)} workers in this process, as in the state, got {len(local)}")
        if not len(local[0]):
            return local[0].clone()
        measured = bool(self.measure) and self.step % self.measure == 0
        bucket = Bucket(keys, shapes, self.step, self.seed, dict(self._kept), self.clock, self.feedback or measured)
        moved = self._moved(bucket, local)
        given = [errors.plus(bucket, one) for errors, one in zip(self._errors, moved, strict=True)]
        true_mean = _mean(given, group) if measured else None
        norm = squares(given) if bucket.rest else 0.0
        mean = self._sent(bucket, given, group)
        if not is_finite(mean):
            self._not_finite += 1
            return mean.fill_(math.nan)
        self._keep(bucket, moved, given)
        if bucket.rest:
            self._losses.sent(norm, given)
        if true_mean is not None:
            self._losses.reduced(true_mean, mean)
        return mean

    def end_step(self) -> None:
        """Count a step whose buckets are all reduced."""
        self.step += 1
        self._losses.end_step()

    def report(self) -> Report:
        """Return costs and errors of the steps so far."""
        bits, messages = (8 * one / max(1, self._numbers) for one in (self._traffic.bytes, self._traffic.messages))
        seconds, losses = dict(self.clock.seconds), self._losses
        return Report(self.step, bits, bits + HEADERS * messages, seconds, losses.error, losses.alpha, self._not_finite)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training needs of this process: the step and the memory, for `torch.save`."""
        return {
            "scheme": self.scheme.name,
            "step": self.step,
            "errors": [one.state_dict() for one in self._errors],
            "velocities": [one.state_dict() for one in self._velocities],
            "kept": {key: one.clone() for key, one in self._kept.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; each process loads its own. ValueError if it is that of another scheme."""
        if state["scheme"] != self.scheme.name:
            raise ValueError(f"expected a state of the scheme {self.scheme.name!r}, got one of {state['scheme']!r}")
        self.step = int(state["step"])
        self._errors = [_loaded(one) for one in state["errors"]]
        self._velocities = [_loaded(one) for one in state["velocities"]]
        self._kept = {int(key): one.clone() for key, one in state["kept"].items()}

    def _moved(self, bucket: Bucket, local: list[Tensor]) -> list[Tensor]:
        """Return velocities, or the gradients themselves without momentum correction."""
        if not self.momentum:
            return local
        return [v.plus(bucket, one, self.momentum) for v, one in zip(self._velocities, local, strict=True)]

    def _sent(self, bucket: Bucket, given: list[Tensor], group: Group) -> Tensor:
        """Return the mean that the scheme makes, and count the bytes."""
        for one in given:
            if not is_finite(one):
                one.fill_(math.nan)  # all workers see it, whatever they select
        scheme: Scheme = Dense() if self.step < self.warmup else self.scheme
        group.traffic = self._traffic
        mean = scheme.reduce(given, group, bucket)
        self._numbers += len(mean)
        return mean

    def _keep(self, bucket: Bucket, moved: list[Tensor], left: list[Tensor]) -> None:
        """Keep what was not sent, and velocities, which are 0 where a number was sent."""
        self._kept = bucket.kept
        if self.feedback:
            for errors, one in zip(self._errors, left, strict=True):
                errors.keep(bucket, one)
        if self.momentum:
            for i, (velocities, one) in enumerate(zip(self._velocities, moved, strict=True)):
                if bucket.sent:
                    one[bucket.sent[i]] = 0
                velocities.keep(bucket, one)


def is_finite(x: Tensor) -> bool:
    """Return whether no element is nan or infinite."""
    return math.isfinite(float(torch.linalg.vector_norm(x))) or bool(torch.isfinite(x).all())  # the first is quick


def _mean(given: list[Tensor], group: Group) -> Tensor:
    """Return the true mean; its bytes are not counted."""
    group.traffic = Traffic()
    return group.sum([one.clone() for one in given]) / group.size


def _loaded(state: Mapping[int, Tensor]) -> Memory:
    memory = Memory()
    memory.load_state_dict(state)
    return memory
