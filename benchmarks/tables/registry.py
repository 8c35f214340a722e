"""The tables by name, in the order in which they are printed: a decorated function adds one."""

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.tables.runs import Recorded

Make = Callable[[Recorded], str]


class Table(NamedTuple):
    """`make` returns the text, "" where there is nothing to tell."""

    title: str
    make: Make


TABLES: dict[str, Table] = {}


def table(name: str, title: str) -> Callable[[Make], Make]:
    """Register a function as the table `name`; ValueError where there is one."""

    def add(make: Make) -> Make:
        if name in TABLES:
            raise ValueError(f"expected a table of a new name, got {name!r} twice: rename one of them")
        TABLES[name] = Table(title, make)
        return make

    return add
