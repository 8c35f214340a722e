"""When the backward pass needs each storage under a plan, those included that others are made anew of."""

from collections.abc import Sequence

from lamcts.neural.memory.plan import RECOMPUTED, Action
from lamcts.neural.memory.scheme import Scheme


def spans(scheme: Scheme, actions: Sequence[Action]) -> tuple[list[int], list[int]]:
    """Return the first and the last backward step [n] at which each storage is wanted: NEVER and -1 where at none.

    What a storage is made anew of is wanted when that is done: of a RECOMPUTE once, at its first step; of the
    others at any time up to the last at which they may be made.
    """
    first, last = scheme.first_need.copy(), scheme.last_need.copy()
    latest = [at if need >= 0 else -1 for at, need in zip(first, last, strict=True)]  # at which it may be made anew
    for i in sorted(range(len(actions)), key=scheme.done.__getitem__, reverse=True):  # what is made of it comes first
        if actions[i] in RECOMPUTED and last[i] >= 0:
            at = first[i]
            until = {Action.RECOMPUTE: at, Action.RECOMPUTE_AGAIN: latest[i]}.get(actions[i], last[i])
            for source in scheme.inputs[i]:
                first[source] = min(first[source], at)
                last[source] = max(last[source], until)
                latest[source] = max(latest[source], until)
    return first, last
