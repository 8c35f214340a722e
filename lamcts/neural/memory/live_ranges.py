"""Backward live ranges of storages, including inputs of recomputation."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from lamcts.neural.memory.graph_tables import GraphTables
from lamcts.neural.memory.plan import RECOMPUTED, Action


def live_ranges(tables: GraphTables, actions: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Return the first and last backward step [n] that needs each storage (NEVER and -1 if none), and the last remake.

    Inputs of a recomputation are needed when it runs: for RECOMPUTE once, at its first step; for the other actions
    until the last step at which the storage may be recomputed, which is the third list.
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
    return first, last, latest


def update_live_ranges(
    tables: GraphTables,
    actions: Sequence[int],
    changed: Sequence[int],
    first: list[int],
    last: list[int],
    latest: list[int],
) -> list[int]:
    """Update the three lists in place after the actions of `changed`; return the storages whose range changed.

    The result equals that of `live_ranges`.
    """
    order, moved = tables.last_write, []
    queue = [(-order[source], source) for i in changed for source in tables.inputs[i]]
    heapify(queue)
    before = None
    while queue:  # dependents come before their inputs
        i = heappop(queue)[1]
        if i == before:
            continue
        before, old = i, (first[i], last[i], latest[i])
        new = _range_of(tables, actions, i, first, last, latest)
        if new != old:
            first[i], last[i], latest[i] = new
            if new[:2] != old[:2]:
                moved.append(i)
            if actions[i] & 1:
                for source in tables.inputs[i]:
                    heappush(queue, (-order[source], source))
    return moved


def _range_of(
    tables: GraphTables, actions: Sequence[int], i: int, first: list[int], last: list[int], latest: list[int]
) -> tuple[int, int, int]:
    """Return the range of a storage, from its own needs and from those of its dependents."""
    begin, end, late = tables.first_need[i], tables.last_need[i], tables.first_need_or_none[i]
    for user in tables.dependents[i]:
        if actions[user] & 1 and last[user] >= 0:
            until = _last_remake(actions[user], first[user], last[user], latest[user])
            begin, end, late = min(begin, first[user]), max(end, until), max(late, until)
    return begin, end, late


def _last_remake(action: int, first: int, last: int, latest: int) -> int:
    """Return the last step at which a storage may be recomputed."""
    return first if action == Action.RECOMPUTE else latest if action == Action.RECOMPUTE_AGAIN else last
