"""Backward live ranges of storages, including inputs of recomputation."""

from collections.abc import Sequence

from lamcts.neural.memory.graph_tables import GraphTables
from lamcts.neural.memory.plan import RECOMPUTED, Action


def live_ranges(tables: GraphTables, actions: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the first and last backward step [n] that needs each storage; NEVER and -1 if none does.

    Inputs of a recomputation are needed when it runs: for RECOMPUTE once, at its first step; for the other actions
    until the last step at which the storage may be recomputed.
    """
    first, last = tables.first_need.copy(), tables.last_need.copy()
    latest = tables.first_need_or_none.copy()
    for i in tables.consumers_first:  # dependents come before their inputs
        action = actions[i]
        if action in RECOMPUTED and last[i] >= 0:
            at = first[i]
            until = _last_remake(action, at, last[i], latest[i])
            for source in tables.inputs[i]:
                if at < first[source]:
                    first[source] = at
                if until > last[source]:
                    last[source] = until
                if until > latest[source]:
                    latest[source] = until
    return first, last


def _last_remake(action: int, first: int, last: int, latest: int) -> int:
    """Return the last step at which a storage may be recomputed."""
    return first if action == Action.RECOMPUTE else latest if action == Action.RECOMPUTE_AGAIN else last
