"""What a run is, and what the words of a command line say of seeds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks import problems

Key = tuple[str, ...]  # the text of a row's key, as a CSV gives it back
Row = dict[str, Any]
Curve = dict[str, Any]
Result = tuple[Row, Curve | None]
MARKS = (10, 20, 50, 100, 126, 200, 300, 500, 700, 1000, 2000, 5000, 10000)  # 126: the thesis's figure for Swimmer


class Task(NamedTuple):
    """One run of a method on a problem. Its fields are the key of its row."""

    method: str
    problem: str
    batch: int
    seed: int
    budget: int

    @property
    def key(self) -> Key:
        return tuple(map(str, self))

    def __str__(self) -> str:
        return f"{self.method}@{self.batch} on {self.problem}, seed {self.seed}, {self.budget} evaluations"


def seeds_of(words: Sequence[str]) -> list[int]:
    """Return the seeds of words such as "tune", "table", "3", "100-104"."""
    found: list[int] = []
    for word in words:
        low, _, high = word.partition("-")
        if word in ("tune", "table"):
            found += problems.TUNING if word == "tune" else problems.TABLE
        elif low.isdecimal() and (not high or high.isdecimal()):
            found += range(int(low), int(high or low) + 1)
        else:
            raise ValueError(f"expected seeds such as 3, 100-104, 'tune' or 'table', got {word!r}")
    return list(dict.fromkeys(found))
