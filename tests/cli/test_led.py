from types import SimpleNamespace
from typing import Any

import numpy as np

from lamcts.cli.led import led_by


def record(proposers: dict[int, str], leaders: list[int]) -> Any:
    values, trial = 10.0 - np.arange(12.0), np.arange(12)
    return SimpleNamespace(proposers=proposers, leaders=[(row, None) for row in leaders], values=values, trial=trial)


def test_it_says_what_each_lineage_that_led_found_last_and_how_many_never_did() -> None:
    proposers = {2: "Turbo", 3: "spread out", 5: "lineage 2: box", 7: "lineage 3: box", 9: "lineage 3: Quadratic"}
    assert led_by(record(proposers, [0, 2, 7, 9])) == [
        ["lineages", "1: 8 at evaluation 3, 3: 1 at evaluation 10; 1 never led"]
    ]


def test_of_many_lineages_it_shows_the_last() -> None:
    proposers = {row: f"lineage {row}: Turbo" for row in range(2, 12)}
    ((_, text),) = led_by(record(proposers, list(range(12))))
    assert text.startswith("6: 4 at") and text.endswith("; 5 more")


def test_a_search_without_lineages_has_no_such_line() -> None:
    assert led_by(record({2: "Turbo", 3: "Coordinate"}, [0, 2])) == []
