"""Parse and format memory sizes such as "8GiB" or a number of bytes, and rates such as "1Gbit/s"."""

import math
import re

from lamcts.text import safe_repr

UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}  # binary with and without the i, as in the thesis
DIGITS = 100  # a size is written in hundredths of its unit
BIT_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}  # of rates: decimal, unless an i follows as in GiB
BITS = 8  # in a byte


def size_of(text: str | int | float) -> int:
    """Parse a memory size into bytes."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", str(text).lower())
    size = int(float(found[1]) * UNITS[found[2]]) if found and not isinstance(text, bool) else 0
    if size < 1:
        raise ValueError(f"expected a size of memory, such as '8GiB' or a number of bytes, got {safe_repr(text):.60}")
    return size


def size_text(size: int) -> str:
    """Format bytes as a text such as "1.25 GiB", rounded up."""
    letter, unit = next((pair for pair in reversed(UNITS.items()) if size >= pair[1]), ("", 1))
    if unit == 1:
        return f"{size} B"
    return f"{math.ceil(size * DIGITS / unit) / DIGITS:.2f} {letter.upper()}iB"


def rate_of(text: str) -> float:
    """Parse the rate of a link into bytes a second."""
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e\+?[0-9]+)?)\s*([kmgtKMGT]?)(i?)(bit|b|B)(?:/s|ps)\s*", str(text))
    if found:
        prefix = UNITS[found[2].lower()] if found[3] else BIT_PREFIXES[found[2].lower()]
        rate = float(found[1]) * prefix / (1 if found[4] == "B" else BITS)
        if 0 < rate < math.inf:
            return rate
    raise ValueError(f"link: expected a rate with its unit, such as '1Gbit/s' or '125 MB/s', got {safe_repr(text):.60}")


def words(capacity: int | str, element_bytes: int = 8) -> int:
    """Return a capacity in words."""
    text = str(capacity).strip()
    try:
        found = int(text) if text.isdecimal() else size_of(text if text[-1:].isalpha() else "") // element_bytes
    except ValueError:
        raise ValueError(f"memory: expected words such as 4096, or bytes such as 32KiB, got {capacity!r:.40}") from None
    if found < 1:
        raise ValueError(f"memory: expected at least one word of {element_bytes} bytes, got {capacity!r:.40}")
    return found
