"""The first networks of a search: the best of a large random draw by a zero-cost proxy."""

import math
from typing import TYPE_CHECKING

import numpy as np

from lamcts.neural.nas.base import Point
from lamcts.types import whole_number

if TYPE_CHECKING:
    from lamcts.neural.proxies.objective import ProxyObjective

AMONG = 1000  # networks that are scored: the best per cent of a space is then among them with near certainty
TRIES = 20  # draws for each network that is scored: small spaces repeat networks (untuned)


def first_networks(proxy: "ProxyObjective", n: int, among: int = AMONG, seed: int = 0) -> list[Point]:
    """Return the best of randomly drawn networks by a proxy, best first.

    Parameters
    ----------
    proxy : ProxyObjective
        The space, the data and the proxy.
    n : int
        Number of networks to return, at most `among`.
    among : int, default 1000
        Number of different networks to draw and score. A small space may have fewer.
    seed : int, default 0
        Random seed of the draw.

    Notes
    -----
    Networks without a finite score come last. Of networks with equal scores the first drawn comes first. Scores are an
    order alone: a search never sees their values.

    References
    ----------
    Abdelfattah et al. 2021, Zero-cost proxies for lightweight NAS (section 4.2, warm-up of a search).
    """
    whole_number(n, "n", least=1)
    if whole_number(among, "among", least=1) < n:
        raise ValueError(f"among: expected at least n={n} networks, got {among}: score more")
    drawn = _drawn(proxy, among, np.random.default_rng(seed))
    scores = np.array([_score(proxy, point) for point in drawn])
    return [drawn[i] for i in np.argsort(-scores, kind="stable")[:n]]


def _drawn(proxy: "ProxyObjective", among: int, rng: np.random.Generator) -> list[Point]:
    """Return different valid networks in the order of their draws."""
    space, found = proxy.architectures, dict[str | None, Point]()
    for _ in range(TRIES * among):
        if len(found) == among:
            break
        point = space.random(rng)
        found.setdefault(space.key(point), point)
    return list(found.values())


def _score(proxy: "ProxyObjective", point: Point) -> float:
    try:
        return proxy(point)
    except RuntimeError:  # no finite score
        return -math.inf
