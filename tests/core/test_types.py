"""One reader for numbers, whatever library they come from."""

import decimal
import fractions
import math
from typing import Any

import numpy as np
import pytest

from lamcts.types import array_of, number_of, scalar_of


class Float:
    def __float__(self) -> float:
        return 2.5


NUMBERS: list[tuple[Any, float]] = [
    (np.array(1.5), 1.5),
    (np.array([[1.5]]), 1.5),
    ([1.5], 1.5),
    (((1.5,),), 1.5),
    (np.float16(1.5), 1.5),
    (True, 1.0),
    (fractions.Fraction(3, 2), 1.5),
    (decimal.Decimal("1.5"), 1.5),
    (Float(), 2.5),
    (-(10**400), -math.inf),
    (np.ma.array([1.5]), 1.5),
]
MISSING: list[Any] = [
    np.ma.masked,
    np.ma.array([3], mask=[True]),
    np.ma.array(3.0, mask=True),
    [None],
    np.array([None]),
]
OTHERS: list[Any] = [
    None,
    "1",
    b"1",
    bytearray(b"1"),
    memoryview(b"1"),
    1j,
    {"a": 1},
    [1, 2],
    [],
    ["1"],
    np.array(["1"], object),
]
OTHERS += [np.timedelta64(3, "ns"), np.datetime64("2020", "ns"), np.array([None, 1.0]), object(), len]


@pytest.mark.parametrize(("given", "number"), NUMBERS)
def test_a_number_is_read_from_any_container(given: Any, number: float) -> None:
    assert number_of(given) == number


@pytest.mark.parametrize("given", MISSING)
def test_a_masked_or_missing_number_is_nan(given: Any) -> None:
    assert math.isnan(number_of(given)) and math.isnan(scalar_of(given))


@pytest.mark.parametrize("given", OTHERS, ids=lambda given: type(given).__name__)
def test_texts_times_and_several_numbers_are_no_number(given: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        number_of(given)


def test_pandas_missing_values_are_nan() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install '.[pandas]'")
    for given in (pandas.NA, pandas.NaT, pandas.Series([pandas.NA], dtype="Float64"), [pandas.NA]):
        assert math.isnan(number_of(given))
    assert number_of(pandas.Series([4])) == 4.0


def test_tensors_are_numbers_and_arrays_whatever_their_type() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    for kind in (torch.bfloat16, torch.float16, torch.float64):
        values = torch.tensor([1.5, 2.0], dtype=kind, requires_grad=True)
        assert number_of(values[0]) == 1.5 and array_of(values).tolist() == [1.5, 2.0]
        assert array_of([values[0], 3]).tolist() == [1.5, 3.0]
    assert scalar_of(torch.tensor(3)) == 3 and type(scalar_of(torch.tensor(3))) is int


def test_masked_entries_of_an_array_are_nan() -> None:
    assert np.array_equal(array_of(np.ma.array([1, 2], mask=[False, True])), [1.0, math.nan], equal_nan=True)
