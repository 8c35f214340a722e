"""Which children are trained with several seeds."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.evolve.search import best_points
from lamcts.spaces import Int, Space

SEARCHED = {
    1: (90.0, 9.0),
    2: (89.0, 8.9),
    3: (88.0, 5.0),
    4: (87.9, 6.0),
    5: (40.0, 1.0),
    6: (87.0, 4.9),
    7: (86.0, 9.5),
}


def chosen(count: int, *against: str) -> list[int]:
    """Return the finalists of a search; points 4 and 7 are not on the front, and 0 is the parent."""
    rows = [
        {"edit1": i, "accuracy": a, "ms": ms, "message": None} for i, (a, ms) in ({0: (99.0, 10.0)} | SEARCHED).items()
    ]
    front = [SimpleNamespace(point={"edit1": i}) for i in (0, 1, 2, 3, 5, 6)]
    training = SimpleNamespace(score_name="accuracy", maximize=True)
    evolution: Any = SimpleNamespace(space=Space({"edit1": Int(0, 9)}), training=training, against=against)
    result: Any = SimpleNamespace(rows=lambda: rows, front=front, message="")
    return [point["edit1"] for point in best_points(evolution, result, count)]


def test_one_objective_has_the_most_accurate() -> None:
    assert chosen(3) == [1, 2, 3]


def test_with_a_cost_the_others_have_small_sums_of_ranks() -> None:
    """Ranks of accuracy and time: 2 has 1 + 4, 3 has 2 + 2, 5 has 6 + 0, 6 has 4 + 1; ties go to accuracy."""
    assert chosen(5, "ms") == [1, 3, 2, 6, 5]
    assert chosen(7, "ms") == [1, 3, 2, 6, 5, 4, 7]


def test_failures_are_reported() -> None:
    evolution: Any = SimpleNamespace(
        space=Space({"edit1": Int(0, 9)}), training=SimpleNamespace(score_name="accuracy"), against=()
    )
    rows = [{"edit1": 1, "accuracy": float("nan"), "message": "diverged"}]
    with pytest.raises(ValueError, match="got no child but failures: diverged"):
        best_points(evolution, SimpleNamespace(rows=lambda: rows, message=""), 1)  # type: ignore[arg-type]
