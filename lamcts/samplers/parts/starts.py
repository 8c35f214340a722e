"""What kind of place another lineage begins at: where the trend leads to, a step from the best, or anywhere.

Rippled bowls want the trend, few wide valleys want starts anywhere. So what lineages of each kind ended at decides, by
its rank among all: a draw of each kind's beta distribution, the largest one next (Thompson 1933). The trend comes
first, and until it has failed twice in a row nothing else does.
"""

from collections.abc import Sequence
from typing import get_args

import numpy as np

from lamcts.samplers.parts.lineage import Kind, Lineage
from lamcts.types import Floats

KINDS: tuple[Kind, ...] = get_args(Kind)
FAITHFUL = 2  # lineages that fail in a row before another kind than the trend is tried (untuned)
KICK = 0.15  # sides of the cube along each parameter, where no other valley tells how far the next one is (untuned)


def kind(lineages: Sequence[Lineage], fails: int, rng: np.random.Generator) -> Kind:
    """Return the kind of the next start; `fails`: how many lineages were given up since one was the best."""
    if fails < FAITHFUL:
        return "trend"
    won = ranks(lineages)
    draws = [rng.beta(1 + sum(won[k]), 1 + sum(1 - rank for rank in won[k])) for k in KINDS]
    return KINDS[int(np.argmax(draws))]


def ranks(lineages: Sequence[Lineage]) -> dict[Kind, list[float]]:
    """Return for each kind what share of the other lineages, the first left out, each of its own ended below."""
    told = [one for one in lineages[1:] if len(one.own.good)]
    best = np.array([one.best for one in told])
    found: dict[Kind, list[float]] = {k: [] for k in KINDS}
    for one in told if len(told) > 1 else []:
        above, equal = int((best > one.best).sum()), int((best == one.best).sum()) - 1
        found[one.course.kind].append((above + equal / 2) / (len(told) - 1))
    return found


def kicked(lineages: Sequence[Lineage], leader: int, rng: np.random.Generator) -> Floats:
    """Return a point of the cube [d] as far from the best as the nearest other valley is, along any direction."""
    lowest = [one.own.x[one.own.best] for one in lineages if one.own.best is not None]
    middle = lineages[leader].own.x[lineages[leader].own.best]
    ways = [far for x in lowest if (far := float(np.linalg.norm(x - middle))) > 0]
    way = rng.standard_normal(len(middle))
    way *= min(ways, default=KICK * np.sqrt(len(way))) / np.linalg.norm(way)
    return np.asarray(np.clip(middle + way, 0.0, 1.0))
