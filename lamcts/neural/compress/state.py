"""The steps of a compressed reduction: error feedback, warm-up, momentum correction, measurements."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from lamcts.neural.compress.bucket import Bucket, Clock
from lamcts.neural.compress.group import Group
from lamcts.neural.compress.memory import Memory
from lamcts.neural.compress.report import Report
from lamcts.neural.compress.schemes import Scheme
from lamcts.neural.compress.schemes.dense import Dense


class State:
    """The state of a compressed training, which `hook` returns."""

    def __init__(
        self,
        scheme: Scheme,
        *,
        feedback: bool | None = None,
        warmup: int = 0,
        momentum: float = 0.0,
        measure: int = 0,
        seed: int = 0,
    ) -> None:
        if warmup < 0 or measure < 0:
            raise ValueError(f"expected steps of 0 or more, got warmup={warmup}, measure={measure}")
        if not 0 <= momentum < 1:
            raise ValueError(f"expected momentum in [0, 1), got {momentum}")
        if momentum and not scheme.sparse:
            raise ValueError(f"expected momentum=0 for {scheme.name!r}: only sparse schemes are corrected")
        self.scheme, self.warmup, self.momentum, self.measure = scheme, warmup, momentum, measure
        self.feedback = scheme.feedback if feedback is None else feedback
        self.seed, self.step = seed, 0
        self._errors: list[Memory] = []
        self._velocities: list[Memory] = []
        self._kept: dict[int, Tensor] = {}
        self._clock, self._numbers, self._received, self._not_finite = Clock(), 0, 0.0, 0
        self._lost: list[tuple[Tensor, Tensor]] = []
        self._alpha: float | None = None

    def reduce(
        self, local: list[Tensor], keys: tuple[int, ...], shapes: tuple[torch.Size, ...], group: Group
    ) -> Tensor:
        """Return the mean gradient of a bucket: `local` has a flat float32 vector for each worker of this process."""
        bucket = Bucket(keys, shapes, self.step, self.seed, dict(self._kept), self._clock)
        self._errors = self._errors or [Memory() for _ in local]
        self._velocities = self._velocities or [Memory() for _ in local]
        warm = self.step < self.warmup
        scheme: Scheme = Dense() if warm else self.scheme
        moved = [v.plus(bucket, one, self.momentum) for v, one in zip(self._velocities, local, strict=True)]
        given = moved if warm else [e.plus(bucket, one) for e, one in zip(self._errors, moved, strict=True)]
        before = group.received
        mean = scheme.reduce(given, group, bucket)
        self._received += group.received - before
        self._numbers += len(local[0])
        if math.isfinite(float(torch.linalg.vector_norm(mean, math.inf))):
            self._keep(bucket, moved, None if warm or not self.feedback else given)
        else:
            self._not_finite += 1
            mean.fill_(math.nan)
        return mean

    def _keep(self, bucket: Bucket, moved: list[Tensor], left: list[Tensor] | None) -> None:
        """Keep what was not sent."""
        self._kept = bucket.kept
        for errors, one in zip(self._errors, left or [], strict=False):
            errors.keep(bucket, one)

    def report(self) -> Report:
        """Return costs and errors of the steps so far."""
        bits = 8 * self._received / self._numbers if self._numbers else 0.0
        return Report(self.step, bits, dict(self._clock.seconds), None, self._alpha, self._not_finite)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training needs."""
        return {"scheme": repr(self.scheme), "step": self.step}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.step = int(state["step"])
