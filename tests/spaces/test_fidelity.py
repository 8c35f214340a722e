"""The fidelity of a space: its levels, its place in the encoding, and the space at full fidelity."""

import numpy as np
import pytest

import lamcts
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.serialization import from_json, from_signature, to_json

SPACE = lamcts.Space(
    {"kind": lamcts.Choice(["a", "b", "c"]), "epochs": lamcts.Fidelity(1, 81, resumes=True), "x": lamcts.Float(0, 1)}
)


def axis_of(space):
    found = FidelityAxis.of(space)
    assert found is not None
    return found


def test_levels_are_the_least_fidelity_and_the_full_one_divided_by_powers_of_three():
    assert lamcts.Fidelity(1, 81).levels == (1, 3, 9, 27, 81)
    assert lamcts.Fidelity(2, 40).levels == (2, 4, 13, 40)
    assert lamcts.Fidelity(30, 40).levels == (30, 40)
    assert lamcts.Fidelity(3, 12).levels == (3, 12)  # 4 is too near to 3


@pytest.mark.parametrize(("low", "high"), [(0, 9), (9, 9), (9, 3)])
def test_bounds_that_say_no_fidelity_are_refused(low, high):
    with pytest.raises(ValueError, match=r"low.*got low="):
        lamcts.Fidelity(low, high)


def test_a_fidelity_has_no_condition_and_is_none_itself():
    with pytest.raises(ValueError, match="no condition"):
        lamcts.Fidelity(1, 9, when={"kind": "a"})
    members = {"epochs": lamcts.Fidelity(1, 9), "x": lamcts.Float(0, 1, when={"epochs": 3})}
    with pytest.raises(ValueError, match="no condition"):
        FidelityAxis.of(lamcts.Space(members))


@pytest.mark.parametrize(
    "space",
    [
        lamcts.Fidelity(1, 9),
        lamcts.Space({"epochs": lamcts.Fidelity(1, 9)}),
        lamcts.Space({"a": lamcts.Fidelity(1, 9), "b": lamcts.Fidelity(1, 9), "x": lamcts.Bool()}),
        lamcts.Space({"inner": lamcts.Space([lamcts.Fidelity(1, 9), lamcts.Bool()]), "x": lamcts.Bool()}),
    ],
)
def test_a_fidelity_in_another_place_is_refused(space):
    with pytest.raises(ValueError, match="at most one Fidelity"):
        FidelityAxis.of(space)


def test_rows_lose_their_fidelity_and_get_another():
    axis = axis_of(SPACE)
    row = SPACE.encode({"kind": "b", "epochs": 9, "x": 0.25})[None]
    rest = axis.without(row)
    assert axis.of_rows(row).tolist() == [9] and axis.partial(row).all()
    assert axis.rest.decode(rest[0]) == {"kind": "b", "epochs": 81, "x": 0.25}
    assert [SPACE.decode(one)["epochs"] for one in axis.at(np.vstack([rest, rest]), [3, 81])] == [3, 81]
    assert not axis.partial(axis.at(rest, 81)).any()


def test_a_fixed_parameter_and_a_rule_stay_in_the_space_at_full_fidelity():
    from lamcts.spaces.fixed import fixed

    space = lamcts.Valid(fixed(SPACE, {"kind": "c"}), [lambda point: point["x"] > 0.5])
    axis = axis_of(space)
    drawn = [axis.rest.decode(x) for x in axis.rest.sample(20, np.random.default_rng(0))]
    assert all(point["kind"] == "c" and point["epochs"] == 81 for point in drawn)
    assert FidelityAxis.of(fixed(SPACE, {"epochs": 27})) is None


def test_tuples_have_a_fidelity_by_number():
    assert axis_of(lamcts.Space([lamcts.Float(0, 1), lamcts.Fidelity(1, 9)])).name == 1


def test_a_space_comes_back_from_its_description():
    assert from_json(to_json(SPACE)) == SPACE == from_signature(SPACE.signature())
    assert lamcts.Fidelity(1, 9) != lamcts.Int(1, 9, log=True)
