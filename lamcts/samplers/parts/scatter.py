"""Draws of a distribution that spreads over the whole cube, for a batch that has to lie inside a region."""

from collections.abc import Callable, Sequence

import numpy as np

from lamcts.samplers.parts.batch import Batch, bisect_into
from lamcts.types import Floats

ROUNDS = 4  # draws before a candidate outside the region is pulled inside (untuned)


def scatter(batch: Batch, draw: Callable[[int, float], Floats], anchors: Sequence[Floats]) -> None:
    """Take draws until the batch is full; then pull what fell outside towards the first anchor that lies inside.

    `draw(n, wider)` returns `n` points of the cube [n, d], its steps `wider` times as long. anchors: points [d].
    """
    space, wider = batch.region.space, 1.0
    outside = np.empty((0, space.dim))
    for _ in range(ROUNDS):
        if not batch.open:
            return
        x = draw(batch.missing, wider)  # [k, d]
        snapped = space.snap(x)
        inside = batch.region.contains(snapped)
        outside = x[~inside]
        if not batch.take(snapped).any() and inside.any():
            wider *= 2.0  # a discrete space, or a step that has shrunk to nothing: all these points are known
    anchor = _first_inside(batch, anchors)
    if anchor is not None and len(outside):
        batch.take(bisect_into(outside, anchor, batch.region))


def _first_inside(batch: Batch, anchors: Sequence[Floats]) -> Floats | None:
    inside = batch.region.contains(batch.region.space.snap(np.array(anchors)))
    return next((x for x, here in zip(anchors, inside, strict=True) if here), None)
