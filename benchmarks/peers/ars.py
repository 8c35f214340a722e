"""ARS V2-t with fixed statistics of states, the baseline of gaits (Mania, Guy and Recht 2018, arXiv 1803.07055)."""

from typing import NamedTuple

import numpy as np

from benchmarks.harness.search import Search


class Setting(NamedTuple):
    """Step size, standard deviation of the directions, their number, and how many of the best count (appendix)."""

    step: float
    noise: float
    directions: int
    best: int


SETTINGS = {
    "swimmer": Setting(0.02, 0.01, 1, 1),
    "hopper": Setting(0.01, 0.025, 8, 4),
    "halfcheetah": Setting(0.02, 0.03, 32, 4),
    "walker2d": Setting(0.03, 0.025, 40, 30),
    "ant": Setting(0.015, 0.025, 60, 20),
    "humanoid": Setting(0.02, 0.0075, 230, 230),
}


def search(search: Search) -> None:
    """Step along directions weighted by the differences of their two values, from the zero policy."""
    setting = SETTINGS.get(search.objective.name, SETTINGS["hopper"])
    rng, policy = search.rng(), np.zeros(search.dim)
    search.first()
    while search.left:
        along = rng.standard_normal((setting.directions, search.dim))
        both = np.vstack([policy + setting.noise * along, policy - setting.noise * along])
        up, down = -np.reshape(search.many((both + 1) / 2), (2, -1))  # weights of [-1, 1] in the unit cube
        best = np.argsort(-np.maximum(up, down))[: setting.best]
        spread = float(np.std([up[best], down[best]])) or 1.0
        policy = policy + setting.step / (setting.best * spread) * (up - down)[best] @ along[best]
