"""Capacities in words, or in bytes with a unit."""

import pytest

from lamcts.movement import costs


@pytest.mark.parametrize(
    ("text", "found"), [(192, 192), ("192", 192), ("32KiB", 4096), ("32 kib", 4096), ("1MB", 131_072), ("0.5KiB", 64)]
)
def test_capacities(text, found: int) -> None:
    assert costs.words(text) == found


def test_bytes_are_divided_by_those_of_an_element() -> None:
    assert costs.words("32KiB", element_bytes=4) == 8192


@pytest.mark.parametrize("text", ["", "much", "32KX", "1.5", "-4", "4B", "0"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="memory: expected"):
        costs.words(text)
