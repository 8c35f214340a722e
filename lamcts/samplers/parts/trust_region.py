"""Counts that resize a trust region, also if results are late, partial or lost."""

from dataclasses import dataclass, field

START = -1  # group of the initial points, which are no success or failure of a trust region


@dataclass
class Group:
    """Points of an ask: number of pending points, side of the trust region, and whether one improved."""

    n_pending: int
    length: float
    improved: bool = False


@dataclass
class TrustRegionState:
    """Side `length` of the trust region, and the successes and failures since it last changed.

    A success is a group (the points of an ask) of which some point improves. Failures count in evaluations, and only if
    the side is still that of their ask: so late results of a former trust region do not shrink it again.
    """

    length: float
    n_start: int = 0  # points to draw before the first trust region
    successes: int = 0
    failures: int = 0
    n_issued: int = 0  # points proposed
    n_pending: int = 0  # points without a result
    next_group: int = 0
    groups: dict[int, Group] = field(default_factory=dict)

    def begin(self, n: int) -> list[int]:
        """Return notes for `n` initial points."""
        self.n_start = max(0, self.n_start - n)
        return self._issue(START, n)

    def issue(self, n: int) -> list[int]:
        """Return notes for `n` points of the trust region."""
        number = self.next_group
        if n:
            self.groups[number] = Group(n, self.length)
            self.next_group += 1
        return self._issue(number, n)

    def _issue(self, note: int, n: int) -> list[int]:
        self.n_issued += n
        self.n_pending += n
        return [note] * n

    def tell(self, notes: list[int], improved: list[bool]) -> None:
        """Count results; `improved` holds whether each is a success."""
        self.n_pending -= len(notes)
        results_of_groups: dict[int, list[bool]] = {}
        for number, is_better in zip(notes, improved, strict=True):
            if number != START:
                results_of_groups.setdefault(number, []).append(is_better)
        for number, results in results_of_groups.items():
            group = self.groups[number]
            if any(results) and not group.improved:
                group.improved = True
                self.failures = 0
                self.successes += 1
            if not group.improved and group.length == self.length:
                self.failures += len(results)
            self._close(number, len(results))

    def forget(self, notes: list[int]) -> None:
        """Remove points that will never have a result."""
        self.n_pending -= len(notes)
        for number in notes:
            if number != START:
                self._close(number, 1)

    def _close(self, number: int, count: int) -> None:
        group = self.groups[number]
        group.n_pending -= count
        if not group.n_pending:
            del self.groups[number]
            if not group.improved:
                self.successes = 0

    def reopen(self, length: float) -> None:
        """Set the side and reset the counts; pending points belong to the former trust region."""
        self.length = length
        self.successes = 0
        self.failures = 0

    def resize(self, success_tolerance: int, failure_tolerance: int, most: float) -> None:
        """Double the side after enough successes, halve it after enough failures."""
        if self.successes >= success_tolerance:
            self.reopen(min(2 * self.length, most))
        elif self.failures >= failure_tolerance:
            self.reopen(self.length / 2)
