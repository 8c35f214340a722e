import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from lamcts.outcomes.observations import Floats
from lamcts.samplers.coordinate.additive_model import AdditiveModel
from lamcts.samplers.coordinate.line_search import EVEN_CANDIDATES, NO_GAIN, SURE_DEVIATIONS, LineSearch, Pending
from lamcts.spaces import Bool, Box, Choice, Finite, Float, Int, Space
from lamcts.spaces.base import SearchSpace

MANY = Space(
    {
        "rate": Float(1e-4, 1.0, log=True),
        "layers": Int(1, 6),
        "width": Int(1, 4096, log=True),
        "skip": Bool(),
        "kind": Choice(("a", "b", "c")),
        "size": Choice((1, 2, 5, 9), ordered=True),
        "fixed": Choice(("only",)),
    }
)


def learnt(space: SearchSpace, counts: dict[int, int], seed: int = 0) -> AdditiveModel:
    """Return effects that were told `counts` differences of some parameters."""
    rng = np.random.default_rng(seed)
    effects = AdditiveModel([block.stop - block.start for block in space.blocks])
    for parameter, count in counts.items():
        for end, start in zip(space.sample(count, rng), space.sample(count, rng), strict=True):
            block = space.blocks[parameter]
            effects.add(parameter, end[block], start[block], float(rng.normal()))
    effects.fit()
    return effects


def point(space: SearchSpace, seed: int = 5) -> Floats:
    x: Floats = space.sample(1, np.random.default_rng(seed))[0]
    return x


def everything(rows: Floats) -> np.ndarray:
    return np.ones(len(rows), bool)


def nothing(rows: Floats) -> np.ndarray:
    return np.zeros(len(rows), bool)


@pytest.mark.parametrize("parameter", range(len(MANY.blocks)))
@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_valid_values_other_than_the_present_one(parameter: int, seed: int) -> None:
    lines, x, block = LineSearch(MANY, learnt(MANY, {})), point(MANY, seed), MANY.blocks[parameter]
    to = lines.line(parameter, x, []).to
    rows = np.repeat(x[None], len(to), axis=0)
    rows[:, block] = to
    assert np.array_equal(MANY.snap(rows), rows)
    assert not (to == x[block]).all(1).any()
    assert len(np.unique(to, axis=0)) == len(to)


@pytest.mark.parametrize(
    "parameter, values",
    [(1, {1, 2, 3, 4, 5, 6}), (3, {False, True}), (4, {"a", "b", "c"}), (5, {1, 2, 5, 9}), (6, {"only"})],
)
def test_a_discrete_parameter_of_few_values_has_all_the_others_as_candidates(
    parameter: int, values: set[object]
) -> None:
    lines, x = LineSearch(MANY, learnt(MANY, {})), point(MANY)
    name, block = list(MANY.decode(x))[parameter], MANY.blocks[parameter]
    found = []
    for value in lines.line(parameter, x, []).to:
        row = x.copy()
        row[block] = value
        found.append(MANY.decode(row)[name])
    assert sorted(map(str, found)) == sorted(map(str, values - {MANY.decode(x)[name]}))


@pytest.mark.parametrize("space", [Int(0, 10**6), Int(1, 10**6, log=True)], ids=["even", "log"])
def test_a_wide_whole_number_is_tried_over_its_range_and_next_to_where_it_is(space: Int) -> None:
    present = 5003
    to = np.sort(LineSearch(space, learnt(space, {})).line(0, space.encode(present), []).to[:, 0])
    tried = np.array([space.decode(row) for row in to[:, None]])
    assert np.diff(to).max() < 2 / EVEN_CANDIDATES + (0.06 if space.log else 0.0)  # low logarithms are far apart
    assert np.abs(tried - present).min() < 20
    assert present not in tried


def test_a_float_is_tried_over_its_range_and_near_and_elsewhere_after_every_difference() -> None:
    space = Box(0.0, 1.0, dim=2)
    x = np.array([0.25, 0.0])
    first, second = (LineSearch(space, learnt(space, {0: n})).line(0, x, []).to[:, 0] for n in (1, 2))
    for to in (first, second):
        assert np.diff(np.sort([0.0, *to, 1.0])).max() < 1.6 / EVEN_CANDIDATES
        assert np.all((to >= 0) & (to <= 1))
        assert 1e-6 < np.abs(to - 0.25).min() < 1e-4
    assert len(set(first) & set(second)) < len(first) / 2
    edge = LineSearch(space, learnt(space, {})).line(1, x, []).to[:, 0]
    assert np.all((edge > 0) & (edge <= 1))  # at the edge the near ones on one side fall together with the point


def test_what_is_kept_is_what_a_fresh_object_says_whatever_changes() -> None:
    rng = np.random.default_rng(0)
    effects = learnt(MANY, {0: 3, 1: 3, 4: 2})
    kept, x, out = LineSearch(MANY, effects), point(MANY), list[tuple[Floats, Floats]]()
    parameters = range(len(MANY.blocks))
    for step in range(60):
        what, parameter = step % 4, int(rng.integers(len(MANY.blocks)))
        block = MANY.blocks[parameter]
        end, start = MANY.sample(2, rng)[:, block]
        if what == 0:
            effects.add(parameter, end, start, 10.0 * float(rng.normal()))
            effects.fit()
        elif what == 1:
            x = MANY.sample(1, rng)[0]
        elif what == 2:
            out = [[(end, start)], [(end, 0.5 * start) for end, start in out], []][step // 4 % 3]
        for same in parameters:
            mine = [pair for pair in out if len(pair[0]) == MANY.blocks[same].stop - MANY.blocks[same].start]
            fresh = LineSearch(MANY, effects)
            assert all(map(np.array_equal, kept.line(same, x, mine), fresh.line(same, x, mine)))
            one, other = kept.best(same, x, mine, everything), fresh.best(same, x, mine, everything)
            assert one.gain == other.gain
            assert np.array_equal(one.value, other.value)


def test_a_line_is_kept_while_nothing_changes() -> None:
    lines, x = LineSearch(MANY, learnt(MANY, {0: 3})), point(MANY)
    assert lines.line(0, x, []) is lines.line(0, x.copy(), [])
    out: Pending = [(np.array([0.2]), np.array([0.3]))]
    assert lines.line(0, x, out) is not lines.line(0, x, [])


@pytest.mark.parametrize("parameter", [0, 1, 2, 4])
def test_the_best_has_the_largest_integral_of_expected_improvement(parameter: int) -> None:
    effects = learnt(MANY, {0: 4, 1: 3, 2: 5, 4: 2})
    effects.amplitudes = 0.3 * effects.amplitudes
    lines, x = LineSearch(MANY, effects), point(MANY)
    line = lines.line(parameter, x, [])
    found = lines.best(parameter, x, [], everything)

    def integral(rise: float, deviation: float) -> float:
        if rise > 8 * deviation:
            return 0.0
        low = norm(rise, deviation)
        value: float = quad(lambda t: -t * low.pdf(t), min(rise, 0.0) - 9 * deviation, 0.0, limit=200)[0]
        return value

    deviations = line.spread * effects.amplitudes[parameter]
    gains = [integral(*pair) for pair in zip(line.rise.tolist(), deviations.tolist(), strict=True)]
    assert found.gain == pytest.approx(max(gains), rel=1e-6)
    assert np.array_equal(found.value, line.to[int(np.argmax(gains))])


def test_the_surest_improvement_is_the_lowest_rise_plus_its_deviation_and_none_where_none_is_sure() -> None:
    space = Box(0.0, 1.0, dim=2)
    effects = AdditiveModel([1, 1])
    for t in np.linspace(0, 1, 12):
        effects.add(0, np.array([t]), np.array([0.9]), (t - 0.3) ** 2 - 0.36)
    effects.fit()
    lines, x = LineSearch(space, effects), np.array([0.9, 0.5])
    line, found = lines.line(0, x, []), lines.surest(0, x, [])
    assert found is not None
    i = int(np.argmin(line.rise + SURE_DEVIATIONS * line.spread * effects.amplitudes[0]))
    assert np.array_equal(found.value, line.to[i])
    assert found.gain == -line.rise[i]
    assert found.value[0] == pytest.approx(0.3, abs=0.02)
    assert found.gain == pytest.approx(0.36, abs=0.01)
    assert lines.surest(1, x, []) is None  # nothing known of it
    assert lines.surest(0, np.array([0.3, 0.5]), []) is None  # it is there already


def test_a_discrete_parameter_without_a_usable_value_has_no_gain_and_a_float_is_not_asked_for() -> None:
    lines, x = LineSearch(MANY, learnt(MANY, {})), point(MANY)
    gains = [lines.best(parameter, x, [], nothing).gain for parameter in range(len(MANY.blocks))]
    assert gains[0] > 0
    assert gains[1:] == [NO_GAIN] * 6
    x = MANY.encode(MANY.decode(x) | {"kind": "a"})
    for option in (1, 2):
        found = lines.best(4, x, [], lambda rows, i=option: rows[:, MANY.blocks[4]][:, i] > 0)  # type: ignore[misc]
        assert np.argmax(found.value) == option
    assert lines.best(6, x, [], everything).gain == NO_GAIN


def test_a_table_of_points_yields_points_of_the_table() -> None:
    space = Finite(np.random.default_rng(0).random((12, 3)))
    x = space.x[0]
    to = LineSearch(space, learnt(space, {0: 4})).line(0, x, []).to
    assert len(to)
    assert all((row == space.x).all(1).any() for row in to)
    assert not (to == x).all(1).any()
