"""The counts that grow and shrink a trust region, right for results that come late, in part, or never."""

from dataclasses import dataclass, field

START = -1  # the group of points drawn to begin with: no success or failure of any box


@dataclass
class Group:
    """The points of one ask: how many are `out`, the box's `length` then, and whether one improved."""

    out: int
    length: float
    improved: bool = False


@dataclass
class TrustRegionState:
    """Side `length` of the trust region, and the successes and failures since it last changed.

    A success is a group (the points of one ask) of which some point improves. Failures count in evaluations, and only
    against the box that they were drawn in: many results of one old box shrink it once, not many times.
    """

    length: float
    start: int = 0  # points still to draw before the first box
    successes: int = 0
    failures: int = 0
    issued: int = 0  # points so far
    out: int = 0  # of them, those without a result yet
    group: int = 0  # the next one
    groups: dict[int, Group] = field(default_factory=dict)

    def begin(self, n: int) -> list[int]:
        """Return notes for `n` points to begin with."""
        self.start = max(0, self.start - n)
        return self._issue(START, n)

    def issue(self, n: int) -> list[int]:
        """Return notes for `n` points of the box."""
        group = self.group
        if n:
            self.groups[group] = Group(n, self.length)
            self.group += 1
        return self._issue(group, n)

    def _issue(self, note: int, n: int) -> list[int]:
        self.issued, self.out = self.issued + n, self.out + n
        return [note] * n

    def tell(self, notes: list[int], improved: list[bool]) -> None:
        """Take note of results; `improved` says of each whether it is a success."""
        self.out -= len(notes)
        parts: dict[int, list[bool]] = {}
        for number, better in zip(notes, improved, strict=True):
            if number != START:
                parts.setdefault(number, []).append(better)
        for number, results in parts.items():
            group = self.groups[number]
            if any(results) and not group.improved:
                group.improved, self.failures = True, 0
                self.successes += 1
            if not group.improved and group.length == self.length:
                self.failures += len(results)
            self._close(number, len(results))

    def forget(self, notes: list[int]) -> None:
        """Take note that these points will never be told."""
        self.out -= len(notes)
        for number in notes:
            if number != START:
                self._close(number, 1)

    def _close(self, number: int, count: int) -> None:
        group = self.groups[number]
        group.out -= count
        if not group.out:
            del self.groups[number]
            if not group.improved:
                self.successes = 0

    def reopen(self, length: float) -> None:
        """Begin again with a box of this length; points that are out count as those of the old one."""
        self.length, self.successes, self.failures = length, 0, 0

    def resize(self, success_tolerance: int, failure_tolerance: int, most: float) -> None:
        """Double the box after enough successes, halve it after enough failures."""
        if self.successes >= success_tolerance:
            self.reopen(min(2 * self.length, most))
        elif self.failures >= failure_tolerance:
            self.reopen(self.length / 2)
