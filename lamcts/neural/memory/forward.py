"""The forward pass under a plan: when storages leave the device, and what that waits for."""

from collections.abc import Sequence
from itertools import accumulate
from operator import add
from typing import NamedTuple

from lamcts.neural.memory.plan import MOVED, Action
from lamcts.neural.memory.scheme import NEVER, Scheme


class Forward(NamedTuple):
    """How the forward pass went, and what it leaves to the backward one.

    live: bytes while each forward step runs. until [n]: the last forward step at which a storage is on the device.
    there [n]: which storages stay on the device. leaves, comes, waits: by backward step which ones are freed when it
    ends, fetched when it begins, and must be back by then. late: ticks spent on waiting.
    """

    live: list[int]
    until: list[int]
    there: list[bool]
    leaves: dict[int, list[int]]
    comes: dict[int, list[int]]
    waits: dict[int, list[int]]
    late: int
    sent_bytes: int


def forward(scheme: Scheme, actions: Sequence[int], first: list[int], last: list[int]) -> Forward:
    """Return how the forward pass goes, if the backward one wants storages from `first` to `last` (see `spans`)."""
    begin = scheme.graph.forward_count
    travels = [i for i, action in enumerate(actions) if action in MOVED and first[i] < NEVER]  # is wanted back
    ahead = ahead_of(scheme, actions, travels, first)
    held = held_until(scheme, ahead)
    comes, waits = fetched_at(ahead, first, last, begin)
    stays = {i for i in ahead if held[i] == begin - 1 and i in comes.get(begin, ())}  # no time to be away
    comes = {t: [i for i in some if i not in stays] for t, some in comes.items()}
    waits = {t: [i for i in some if i not in stays] for t, some in waits.items()}
    there = [(action == Action.KEEP or i in stays) and last[i] >= 0 for i, action in enumerate(actions)]
    until = [begin - 1 if there[i] else held.get(i, scheme.used[i]) for i in range(len(actions))]
    sent = [i for i in travels if i not in stays]
    leaves: dict[int, list[int]] = {}
    for i in (*(i for i, stay in enumerate(there) if stay), *(i for i in ahead if i not in stays)):
        leaves.setdefault(last[i], []).append(i)
    moved = sum(scheme.size[i] for i in sent)
    return Forward(_live(scheme, until), until, there, leaves, comes, waits, waited(scheme, sent, held), moved)


def ahead_of(scheme: Scheme, actions: Sequence[int], travels: Sequence[int], first: list[int]) -> list[int]:
    """Return what is fetched ahead of its need, in the order of these needs; nothing where transfers are waited for."""
    if not scheme.machine.overlap:
        return []
    found = [i for i in travels if actions[i] == Action.OFFLOAD]
    return sorted(found, key=lambda i: (first[i], -i))


def held_until(scheme: Scheme, ahead: list[int]) -> dict[int, int]:
    """Return the forward step with which each leaves: the last before the next such storage is made, or a later use.

    Its transfer has so long to go beside computing (thesis 8.3.3, offloading).
    """
    order = sorted(ahead)
    ends = [*(scheme.made[i] - 1 for i in order[1:]), scheme.graph.forward_count - 1]
    return {i: max(ends[k], scheme.used[i]) for k, i in enumerate(order)}


def fetched_at(
    ahead: list[int], first: list[int], last: list[int], begin: int
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return which are asked for, and which must be there, by step: each as soon as the one before is not needed more.

    For a chain of convolutions that is when the backward step of one of them begins (thesis 8.3.3, prefetching).
    """
    comes: dict[int, list[int]] = {}
    waits: dict[int, list[int]] = {}
    for k, i in enumerate(ahead):
        free = last[ahead[k - 1]] + 1 if k else begin
        comes.setdefault(min(free, first[i]), []).append(i)
        waits.setdefault(first[i], []).append(i)
    return comes, waits


def _live(scheme: Scheme, until: list[int]) -> list[int]:
    """Return the bytes while each forward step runs."""
    steps = scheme.graph.forward_count
    change = [0] * (steps + 1)
    for size, made, end in zip(scheme.size, scheme.made, until, strict=True):
        change[made] += size
        change[end + 1] -= size
    return list(map(add, accumulate(change[:steps]), scheme.fixed_during))


def waited(scheme: Scheme, sent: Sequence[int], held: dict[int, int]) -> int:
    """Return the ticks that computing waits for transfers to the host to end, each before its storage is freed."""
    elapsed, transfer = scheme.ticks.elapsed, scheme.ticks.transfer
    if not scheme.machine.overlap:
        return sum([transfer[i] for i in sent])
    stalled = link_free = 0
    done: dict[int, int] = {}
    count, begins, used = len(scheme.size), scheme.made, scheme.used
    ends = [(2 * held.get(i, used[i]) + 1) * count + i for i in sent]
    for key in sorted([2 * begins[i] * count + i for i in sent] + ends):  # by step; sent before it leaves; by number
        t, i = divmod(key, count)
        now = elapsed[(t >> 1) + 1] + stalled
        if not t & 1:
            done[i] = link_free = max(now, link_free) + transfer[i]
        elif done[i] > now:
            stalled += done[i] - now
    return stalled
