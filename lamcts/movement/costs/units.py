"""Capacities of memories, in words or in bytes with a unit."""

from lamcts.movement.sizes import size_of


def words(capacity: int | str, element_bytes: int = 8) -> int:
    """Return a capacity in words.

    Parameters
    ----------
    capacity : int or str
        Words, or bytes with a unit, such as "32KiB"; units are powers of 1024 (`lamcts.movement.sizes.size_of`).
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
    >>> from lamcts.movement import costs
    >>> costs.words(192), costs.words("192"), costs.words("32KiB")
    (192, 192, 4096)
    """
    text = str(capacity).strip()
    try:
        found = int(text) if text.isdecimal() else size_of(text if text[-1:].isalpha() else "") // element_bytes
    except ValueError:
        raise ValueError(f"memory: expected words such as 4096, or bytes such as 32KiB, got {capacity!r:.40}") from None
    if found < 1:
        raise ValueError(f"memory: expected at least one word of {element_bytes} bytes, got {capacity!r:.40}")
    return found
