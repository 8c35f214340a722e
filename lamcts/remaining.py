"""Points of a finite space that have not been proposed or evaluated, in listing order."""

from collections.abc import Container, Hashable, Iterable

import numpy as np

from lamcts.types import Floats


class Remaining:
    """Rows [n, d] whose keys are not in `known`; None keys are skipped, equal keys counted once."""

    def __init__(self, rows: Floats, keys: Iterable[Hashable | None], known: Container[Hashable]) -> None:
        self._dim = rows.shape[1]
        self._every = {key: row for key, row in zip(keys, rows, strict=True) if key is not None}
        self._place = {key: i for i, key in enumerate(self._every)}
        self._remaining = {key for key in self._every if key not in known}

    def rows(self) -> Floats:
        """Return the remaining points in listing order, [k, d]."""
        left = sorted(self._remaining, key=self._place.__getitem__)
        return np.array([self._every[key] for key in left]).reshape(len(left), self._dim)

    def take(self, key: Hashable) -> None:
        self._remaining.discard(key)

    def give_back(self, key: Hashable) -> None:
        if key in self._every:
            self._remaining.add(key)
