"""Capacities of memories, in words or in bytes with a unit."""

import re

# Bytes of each unit: decimal by SI, binary by IEC 80000-13.
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def words(capacity: int | str, element_bytes: int = 8) -> int:
    """Return a capacity in words.

    Parameters
    ----------
    capacity : int or str
        Words, or bytes with a unit: B, KB, MB, GB, KiB, MiB or GiB.
    element_bytes : int, default 8
        Bytes of a word.

    Returns
    -------
    int
        Whole words that fit.

    Raises
    ------
    ValueError
        If the text has another form, or less than one word fits.

    Examples
    --------
    >>> from lamcts import costs
    >>> costs.words(192), costs.words("192"), costs.words("32KiB")
    (192, 192, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(capacity).strip(), re.IGNORECASE)
    if match is None or (match[2] and match[2].upper() not in UNITS) or (not match[2] and "." in match[1]):
        raise ValueError(f"memory: expected words such as 4096, or bytes such as 32KiB, got {capacity!r:.40}")
    found = int(float(match[1]) * UNITS[match[2].upper()] / element_bytes) if match[2] else int(match[1])
    if found < 1:
        raise ValueError(f"memory: expected at least one word of {element_bytes} bytes, got {capacity!r:.40}")
    return found
