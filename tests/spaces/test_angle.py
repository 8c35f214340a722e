"""Angles: values wrap around, the seam is no edge, and every host and file knows them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.journal import Journal
from lamcts.spaces.named_parameters import NamedParameters
from lamcts.spaces.serialization import from_json, from_signature, to_json

TURN = lamcts.Angle(360)


def distance(value: float, other: float) -> float:
    """Return the distance on the circle as a share of it."""
    gap = abs(value - other) % 360
    return min(gap, 360 - gap) / 360


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("best", "within"), [(0.0, 1e-6), (359.9999, 1e-6), (359.6, 5e-5), (123.4, 5e-5)])
def test_the_optimum_is_found_at_the_seam_as_elsewhere(best: float, within: float, seed: int) -> None:
    found = lamcts.minimize(lambda turn: distance(turn, best) ** 2, TURN, budget=40, seed=seed)
    assert distance(found.x, best) < within


def test_values_at_both_sides_of_the_seam_are_neighbours() -> None:
    near = TURN.encode_many([359.9, 0.1, 180.0])
    assert np.linalg.norm(near[0] - near[1]) < 2e-3 and np.linalg.norm(near[1] - near[2]) == pytest.approx(1.0)


@pytest.mark.parametrize(("given", "value"), [(-90, 270.0), (360, 0.0), (725, 5.0), (-1e-20, 0.0), (1e-9, 1e-9)])
def test_values_wrap_around(given: float, value: float) -> None:
    assert TURN.decode(TURN.encode(given)) == pytest.approx(value, abs=1e-12)
    space = lamcts.Space({"turn": TURN, "far": lamcts.Float(0, 1)})
    seen = lamcts.minimize(lambda point: point["turn"], space, budget=1, x0={"turn": given, "far": 0.5}, seed=0)
    assert seen.x["turn"] == seen.fun == given % 360 % 360
    known = lamcts.minimize(lambda point: 1.0, space, budget=1, known=[({"turn": given, "far": 0.5}, 0.0)], seed=0)
    assert known.x["turn"] == value
    fixed = lamcts.minimize(lambda point: point["far"], space, budget=1, fix={"turn": given}, seed=0)
    assert fixed.x["turn"] == value


@pytest.mark.parametrize("given", ["up", None, math.nan, [1.0]])
def test_what_is_no_angle_is_an_error(given: Any) -> None:
    with pytest.raises(ValueError, match="value: expected a"):
        TURN.encode(given)
    with pytest.raises(ValueError, match="period: expected a"):
        lamcts.Angle(0 if given is None else given)


def test_files_reports_and_figures_know_angles(tmp_path: Path) -> None:
    space = lamcts.Space({"turn": TURN, "far": lamcts.Float(0, 1), "on": lamcts.Bool()})
    assert from_json(to_json(space) or {}) == space == from_signature(space.signature())
    path = tmp_path / "run.db"

    def loss(point: Any) -> float:
        return distance(point["turn"], 350) + point["far"]

    made = lamcts.minimize(loss, space, budget=25, seed=0, journal=path)
    loaded = lamcts.load(path)
    assert loaded.x == made.x and loaded.space == space
    named = NamedParameters(space.signature(), space.dim)
    assert named.names == ["turn", "far", "on"] and named.parameters[0].part == slice(0, 2)
    assert named.along(0, named.parameters[0].grid(np.array([0.0, 0.25]))) == pytest.approx([0.0, 90.0])
    pytest.importorskip("plotly")
    assert "turn" in lamcts.report.page([lamcts.report.LabelledRun("run", Journal.read(path))])


def test_optuna_gets_an_angle_as_a_range() -> None:
    pytest.importorskip("optuna")
    from optuna.distributions import FloatDistribution

    from lamcts.integrations.optuna.export import parameters_of

    (found,) = parameters_of(lamcts.Space({"turn": TURN}), {"turn": 350.0})
    assert found == ("turn", 350.0, FloatDistribution(0.0, 360.0))
