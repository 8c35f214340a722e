"""Parse and format memory sizes such as "8GiB", "512 MB", or a number of bytes."""

import re
from math import ceil

from lamcts.text import safe_repr

UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}  # binary with and without the i, as in the thesis
DIGITS = 100  # a size is written in hundredths of its unit


def size_of(text: str | int | float) -> int:
    """Parse a memory size into bytes.

    Parameters
    ----------
    text : str, int or float
        A number of bytes, or a text such as "8GiB" or "512 MB"; both units are powers of 1024.

    Raises
    ------
    ValueError
        If the text is not a size, or not above 0.

    Examples
    --------
    >>> from lamcts.sizes import size_of
    >>> size_of("512 MB")
    536870912
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", str(text).lower())
    size = int(float(found[1]) * UNITS[found[2]]) if found and not isinstance(text, bool) else 0
    if size < 1:
        raise ValueError(f"expected a size of memory, such as '8GiB' or a number of bytes, got {safe_repr(text):.60}")
    return size


def size_text(size: int) -> str:
    """Format bytes as a text such as "1.25 GiB", rounded up.

    Examples
    --------
    >>> from lamcts.sizes import size_text
    >>> size_text(1_342_177_280)
    '1.25 GiB'
    """
    letter, unit = next((pair for pair in reversed(UNITS.items()) if size >= pair[1]), ("", 1))
    if unit == 1:
        return f"{size} B"
    return f"{ceil(size * DIGITS / unit) / DIGITS:.2f} {letter.upper()}iB"
