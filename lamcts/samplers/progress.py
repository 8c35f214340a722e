"""The counts that grow and shrink a trust region, right for results that come late, in part, or never."""

from dataclasses import dataclass, field
from typing import Any

START = -1  # the group of points drawn to begin with: no success or failure of any box


@dataclass
class Group:
    """The points of one ask: how many are `out`, the box's `length` then, and whether one of them improved."""

    out: int
    length: float
    improved: bool = False


@dataclass
class Progress:
    """Side `length` of the trust region, and the successes and failures since it last changed.

    A success is a group (the points of one ask) of which some point improves. Failures count in evaluations, and only
    against the box that they were drawn in: many results of one old box shrink it once, not many times.
    """

    length: float
    start: int  # points still to draw before the first box
    successes: int = 0
    failures: int = 0
    tag: int = 0  # the next one
    group: int = 0  # the next one
    groups: dict[int, Group] = field(default_factory=dict)
    tags: dict[int, int] = field(default_factory=dict)  # of points that are out -> group

    def issue(self, started: int, searched: int) -> list[int]:
        """Return tags for a batch: first `started` points to begin with, then `searched` points of the box."""
        tags = list(range(self.tag, self.tag + started + searched))
        self.tag += len(tags)
        self.start = max(0, self.start - started)
        self.tags |= dict.fromkeys(tags[:started], START) | dict.fromkeys(tags[started:], self.group)
        if searched:
            self.groups[self.group] = Group(searched, self.length)
            self.group += 1
        return tags

    def tell(self, tags: list[int], improved: list[bool]) -> None:
        """Take note of results; `improved` says of each tag whether it is a success."""
        parts: dict[int, list[bool]] = {}
        for tag, better in zip(tags, improved, strict=True):
            if (number := self.tags.pop(tag, START)) != START:
                parts.setdefault(number, []).append(better)
        for number, results in parts.items():
            group = self.groups[number]
            if any(results) and not group.improved:
                group.improved, self.failures = True, 0
                self.successes += 1
            if not group.improved and group.length == self.length:
                self.failures += len(results)
            self._close(number, len(results))

    def forget(self, tags: list[int]) -> None:
        """Take note that these tags will never be told."""
        for tag in tags:
            if (number := self.tags.pop(tag, START)) != START:
                self._close(number, 1)

    def _close(self, number: int, count: int) -> None:
        group = self.groups[number]
        group.out -= count
        if not group.out:
            del self.groups[number]
            if not group.improved:
                self.successes = 0

    def resize(self, success_tolerance: int, failure_tolerance: int, most: float) -> None:
        """Double the box after enough successes, halve it after enough failures."""
        if self.successes >= success_tolerance:
            self.length, self.successes, self.failures = min(2 * self.length, most), 0, 0
        elif self.failures >= failure_tolerance:
            self.length, self.successes, self.failures = self.length / 2, 0, 0

    def state(self) -> dict[str, Any]:
        """Return JSON values."""
        numbers = [self.length, self.start, self.successes, self.failures, self.tag, self.group]
        groups = [[k, g.out, g.length, g.improved] for k, g in self.groups.items()]
        return {"numbers": numbers, "groups": groups, "tags": [list(pair) for pair in self.tags.items()]}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "Progress":
        """Return the progress whose `state()` this is."""
        groups = {k: Group(out, length, improved) for k, out, length, improved in state["groups"]}
        length, start, successes, failures, tag, group = state["numbers"]
        return cls(length, start, successes, failures, tag, group, groups, dict(state["tags"]))
