"""The forward pass under a plan: live ranges, offloads, prefetch steps, live bytes and stalls."""

from collections.abc import Sequence
from itertools import accumulate
from operator import add
from typing import NamedTuple

from lamcts.neural.memory.graph_tables import NEVER, GraphTables
from lamcts.neural.memory.plan import MOVED, RECOMPUTED, Action


class Forward(NamedTuple):
    """The simulated forward pass, and the schedule of the backward one."""

    first: list[int]  # [n], and last: backward live ranges, see `live_ranges`
    last: list[int]
    live: list[int]  # bytes of each forward step
    resident_until: list[int]  # [n], last forward step on the device
    resident: list[bool]  # [n], whether a storage is on the device when the forward pass ends
    frees: dict[int, list[int]]  # by backward step, storages that are freed when it ends
    prefetches: dict[int, list[int]]  # by backward step, storages that are prefetched when it begins
    waits: dict[int, list[int]]  # by backward step, storages that are needed back by then
    stall: int  # ticks of waiting, and of following operations until the last use of a storage that leaves
    sent_bytes: int


def forward(tables: GraphTables, actions: Sequence[int]) -> Forward:
    """Simulate the forward pass."""
    begin, (first, last) = tables.graph.forward_count, live_ranges(tables, actions)
    offloaded = [i for i, action in enumerate(actions) if action in MOVED and first[i] < NEVER]
    ahead = _prefetched(tables, actions, offloaded, first)
    order = sorted(ahead)  # each transfer to the host ends at a forward step (thesis 8.3.3, offloading)
    ends = [*(tables.first_write[i] - 1 for i in order[1:]), tables.graph.forward_count - 1]
    held = {i: max(ends[k], tables.last_forward_use[i]) for k, i in enumerate(order)}
    prefetches, waits = _prefetch_steps(ahead, first, last, begin)
    staying = {i for i in ahead if held[i] == begin - 1 and i in prefetches.get(begin, ())}  # too short to offload
    prefetches = {t: [i for i in some if i not in staying] for t, some in prefetches.items()}
    waits = {t: [i for i in some if i not in staying] for t, some in waits.items()}
    resident = [(action == Action.KEEP or i in staying) and last[i] >= 0 for i, action in enumerate(actions)]
    resident_until = [
        begin - 1 if resident[i] else held.get(i, tables.last_forward_use[i]) for i in range(len(actions))
    ]
    sent = [i for i in offloaded if i not in staying]
    frees: dict[int, list[int]] = {}
    for i in (*(i for i, stay in enumerate(resident) if stay), *(i for i in ahead if i not in staying)):
        frees.setdefault(last[i], []).append(i)
    moved = sum(tables.size[i] for i in sent)
    steps = tables.graph.forward_count
    change = [0] * (steps + 1)
    for size, made, end in zip(tables.size, tables.first_write, resident_until, strict=True):
        change[made] += size
        change[end + 1] -= size
    return Forward(
        first,
        last,
        list(map(add, accumulate(change[:steps]), tables.fixed_during)),
        resident_until,
        resident,
        frees,
        prefetches,
        waits,
        _stall_ticks(tables, sent, held) + _follow_ticks(tables, resident, last),
        moved,
    )


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


def _prefetched(tables: GraphTables, actions: Sequence[int], offloaded: Sequence[int], first: list[int]) -> list[int]:
    """Return the prefetched storages by first need; none if transfers do not overlap computing."""
    if not tables.machine.overlap:
        return []
    found = [i for i in offloaded if actions[i] == Action.OFFLOAD]
    return sorted(found, key=lambda i: (first[i], -i))


def _prefetch_steps(
    ahead: list[int], first: list[int], last: list[int], begin: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return the steps that begin each prefetch, and those that wait for it (thesis 8.3.3, prefetching)."""
    prefetches: dict[int, list[int]] = {}
    waits: dict[int, list[int]] = {}
    for k, i in enumerate(ahead):
        free = last[ahead[k - 1]] + 1 if k else begin
        prefetches.setdefault(min(free, first[i]), []).append(i)
        waits.setdefault(first[i], []).append(i)
    return prefetches, waits


def _stall_ticks(tables: GraphTables, sent: Sequence[int], held: dict[int, int]) -> int:
    """Return the ticks that computing waits for transfers to the host; each storage is freed after its transfer."""
    elapsed, transfer = tables.ticks.elapsed, tables.ticks.transfer
    if not tables.machine.overlap:
        return sum([transfer[i] for i in sent])
    stalled = link_free = 0
    done: dict[int, int] = {}
    count, begins, used = len(tables.size), tables.last_write, tables.last_forward_use
    ends = [(2 * held.get(i, used[i]) + 1) * count + i for i in sent]
    for key in sorted([2 * begins[i] * count + i for i in sent] + ends):  # by step, begin before end
        t, i = divmod(key, count)
        now = elapsed[(t >> 1) + 1] + stalled
        if not t & 1:
            done[i] = link_free = max(now, link_free) + transfer[i]
        elif done[i] > now:
            stalled += done[i] - now
    return stalled


def _follow_ticks(tables: GraphTables, resident: Sequence[bool], last: Sequence[int]) -> int:
    """Return the host ticks of following operations until the last forward use of a storage that leaves."""
    if not tables.machine.follow_seconds:
        return 0
    rows = zip(tables.last_forward_use, resident, last, strict=True)
    return tables.ticks.follow[1 + max((used for used, stays, need in rows if need >= 0 and not stays), default=-1)]
