"""What is left of a finite space: the points that are not known, in the order in which they were listed."""

from collections.abc import Container, Hashable, Iterable

import numpy as np

from lamcts.types import Floats


class Left:
    """Of `rows` [n, d] those whose keys are not `known`; a key of None is of no point, and of equal ones one counts."""

    def __init__(self, rows: Floats, keys: Iterable[Hashable | None], known: Container[Hashable]) -> None:
        self._dim = rows.shape[1]
        self._every = {key: row for key, row in zip(keys, rows, strict=True) if key is not None}
        self._place = {key: i for i, key in enumerate(self._every)}
        self._left = {key for key in self._every if key not in known}

    def rows(self) -> Floats:
        """Return the points that are left, [k, d]; one that was given back has its old place."""
        left = sorted(self._left, key=self._place.__getitem__)
        return np.array([self._every[key] for key in left]).reshape(len(left), self._dim)

    def take(self, key: Hashable) -> None:
        self._left.discard(key)

    def give_back(self, key: Hashable) -> None:
        if key in self._every:
            self._left.add(key)
