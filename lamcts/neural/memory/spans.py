"""When the backward pass needs each storage under a plan, those included that others are made anew of."""

from collections.abc import Sequence

from lamcts.neural.memory.plan import RECOMPUTED, Action
from lamcts.neural.memory.scheme import Scheme


def spans(scheme: Scheme, actions: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the first and the last backward step [n] at which each storage is wanted: NEVER and -1 where at none.

    What a storage is made anew of is wanted when that is done: of a RECOMPUTE once, at its first step; of the
    others at any time up to the last at which they may be made.
    """
    first, last = scheme.first_need.copy(), scheme.last_need.copy()
    latest = scheme.once.copy()
    for i in scheme.youngest_first:  # what is made of a storage comes before it
        action = actions[i]
        if action in RECOMPUTED and last[i] >= 0:
            at = first[i]
            until = at if action == Action.RECOMPUTE else latest[i] if action == Action.RECOMPUTE_AGAIN else last[i]
            for source in scheme.inputs[i]:
                if at < first[source]:
                    first[source] = at
                if until > last[source]:
                    last[source] = until
                if until > latest[source]:
                    latest[source] = until
    return first, last
