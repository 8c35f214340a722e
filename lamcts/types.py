"""Types that every part shares, and the check of the commonest of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.text import safe_repr

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def whole_number(value: Any, name: str, least: int = 1, optional: bool = False) -> int:
    """Return `value` as an int if it is a whole number of at least `least`; None counts as one where `optional`.

    Anything else is a ValueError that begins with `name`.
    """
    if value is None and optional:
        return least
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        none = "None or " if optional else ""
        raise ValueError(f"{name}: expected {none}a whole number of at least {least}, got {safe_repr(value):.60}")
    return int(value)
