"""When the backward pass needs each storage under a plan, those included that others are made anew of."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from lamcts.neural.memory.plan import RECOMPUTED, Action
from lamcts.neural.memory.scheme import Scheme


def spans(scheme: Scheme, actions: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Return the first and the last backward step [n] at which each storage is wanted: NEVER and -1 where at none.

    What a storage is made anew of is wanted when that is done: of a RECOMPUTE once, at its first step; of the
    others at any time up to the last at which they may be made. The third list has the latter.
    """
    first, last = scheme.first_need.copy(), scheme.last_need.copy()
    latest = scheme.once.copy()
    for i in scheme.youngest_first:  # what is made of a storage comes before it
        action = actions[i]
        if action in RECOMPUTED and last[i] >= 0:
            at = first[i]
            until = _until(action, at, last[i], latest[i])
            for source in scheme.inputs[i]:
                if at < first[source]:
                    first[source] = at
                if until > last[source]:
                    last[source] = until
                if until > latest[source]:
                    latest[source] = until
    return first, last, latest


def moved_spans(
    scheme: Scheme, actions: Sequence[int], changed: Sequence[int], first: list[int], last: list[int], latest: list[int]
) -> list[int]:
    """Bring the three lists up to date, `changed` having other actions now; return whose first or last is another.

    The same as `spans`, which looks at all.
    """
    done, moved = scheme.done, []
    queue = [(-done[source], source) for i in changed for source in scheme.inputs[i]]
    heapify(queue)
    before = None
    while queue:  # the youngest comes first: what is made of it has been looked at
        i = heappop(queue)[1]
        if i == before:
            continue
        before, old = i, (first[i], last[i], latest[i])
        new = _wanted(scheme, actions, i, first, last, latest)
        if new != old:
            first[i], last[i], latest[i] = new
            if new[:2] != old[:2]:
                moved.append(i)
            if actions[i] & 1:
                for source in scheme.inputs[i]:
                    heappush(queue, (-done[source], source))
    return moved


def _wanted(
    scheme: Scheme, actions: Sequence[int], i: int, first: list[int], last: list[int], latest: list[int]
) -> tuple[int, int, int]:
    """Return when a storage is wanted, by itself and by what is made of it."""
    begin, end, late = scheme.first_need[i], scheme.last_need[i], scheme.once[i]
    for user in scheme.users[i]:
        if actions[user] & 1 and last[user] >= 0:
            until = _until(actions[user], first[user], last[user], latest[user])
            begin, end, late = min(begin, first[user]), max(end, until), max(late, until)
    return begin, end, late


def _until(action: int, first: int, last: int, latest: int) -> int:
    """Return the last step at which a storage may be made anew."""
    return first if action == Action.RECOMPUTE else latest if action == Action.RECOMPUTE_AGAIN else last
