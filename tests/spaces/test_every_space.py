"""What every kind of space promises, checked on drawn spaces, nested ones included."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.spaces import Angle, Bool, Box, Choice, Finite, Float, Int, Simplex, Space, Subset, distance
from lamcts.spaces.base import SearchSpace

WIDE = st.floats(-1e300, 1e300)


@st.composite
def _floats(draw: Any) -> Float:
    log = draw(st.booleans())
    side = st.floats(1e-150, 1e150) if log else WIDE
    low, high = sorted(draw(st.lists(side, min_size=2, max_size=2, unique=True)))
    return Float(low, high, log=log)


@st.composite
def _ints(draw: Any) -> Int:
    log = draw(st.booleans())
    low = draw(st.integers(1, 2**39) if log else st.integers(-(2**62), 2**62))
    high = draw(st.one_of(st.integers(low, low + 50), st.integers(low, 2**63)))
    return Int(low, high, log=log)


@st.composite
def _boxes(draw: Any) -> Box:
    dim = draw(st.integers(1, 4))
    pairs = [sorted(draw(st.lists(WIDE, min_size=2, max_size=2, unique=True))) for _ in range(dim)]
    return Box([low for low, _ in pairs], [high for _, high in pairs])


OPTIONS = st.one_of(
    st.none(), st.booleans(), st.integers(2, 99), st.text(max_size=3), st.lists(st.integers(), max_size=2)
)
CHOICES = st.builds(Choice, st.lists(OPTIONS, min_size=1, max_size=5, unique_by=repr), ordered=st.booleans())
FINITE = st.builds(
    Finite, st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=1, max_size=9, unique=True)
)
NAMES = st.lists(st.text(min_size=1, max_size=2), min_size=2, max_size=6, unique=True)
MIXTURES = st.builds(Simplex, st.one_of(st.integers(2, 9), NAMES), st.floats(1e-290, 1e300))


@st.composite
def _subsets(draw: Any) -> Subset:
    items = draw(st.lists(OPTIONS, min_size=1, max_size=6, unique_by=repr))
    return Subset(items, draw(st.integers(1, len(items))))


ANGLES = st.builds(Angle, st.floats(0.1, 1e6))
SINGLE = st.one_of(_floats(), _ints(), _boxes(), st.just(Bool()), CHOICES, FINITE, MIXTURES, ANGLES, _subsets())
SPACES = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        st.builds(Space, st.lists(inner, min_size=1, max_size=4)),
        st.builds(Space, st.dictionaries(st.text(min_size=1, max_size=3), inner, min_size=1, max_size=4)),
    ),
    max_leaves=6,
)
drawn = settings(max_examples=120, deadline=None, derandomize=True)


def same(a: Any, b: Any) -> bool:
    """Equal where discrete, equal up to rounding where real; of the same types all the way down."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        scale = np.abs(a).max()
        return (
            isinstance(b, np.ndarray) and a.shape == b.shape and bool(np.all(np.abs(a - b) <= 1e-12 * scale + 1e-300))
        )
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300)
    return type(a) is type(b) and a == b


@drawn
@given(SPACES, st.integers(0, 2**32))
def test_decoding_and_encoding_again_gives_the_valid_row_and_its_point_again(space: Any, seed: int) -> None:
    x = space.sample(20, np.random.default_rng(seed))
    points = space.decode_many(x)
    again = space.encode_many(points)
    discrete = ~space.continuous
    assert (again[:, discrete] == x[:, discrete]).all()
    for point, back in zip(points, space.decode_many(again), strict=True):
        assert np.array_equal(space.encode(point), space.encode(point))
        assert again.min() >= 0 and again.max() <= 1
        assert same_in(space, point, back)


def same_in(space: Any, point: Any, back: Any) -> bool:
    """Like `same`, where the rounding allowed is that of the range, not of the value."""
    if isinstance(space, Space):
        if space.names is not None:
            return list(point) == list(back) and all(map(same_in, space.members, point.values(), back.values()))
        return len(point) == len(back) and all(map(same_in, space.members, point, back))
    if isinstance(space, Float):
        tolerance = 1e-12 * point if space.log else 1e-15 * (abs(space.low) + abs(space.high))
        return type(point) is type(back) is float and abs(point - back) <= tolerance
    if isinstance(space, Simplex):
        amounts = [[*one.values()] if isinstance(one, dict) else one for one in (point, back)]
        return type(point) is type(back) and bool(np.allclose(*amounts, rtol=0, atol=1e-12 * space.total))
    if isinstance(space, Box):
        return bool(np.all(np.abs(point - back) <= 1e-15 * (np.abs(space.low) + np.abs(space.high))))
    return same(point, back)


@drawn
@given(SPACES, st.integers(0, 2**32))
def test_snap_makes_rows_valid_and_leaves_valid_rows_bit_for_bit(space: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    wild = rng.uniform(-0.5, 1.5, (30, space.dim))
    snapped = space.snap(wild)
    valid = space.sample(30, rng)
    for x in (snapped, valid, space.spread(np.zeros((1, space.dim))), space.spread(np.ones((1, space.dim)))):
        assert x.dtype == np.float64 and x.min() >= 0 and x.max() <= 1
        assert np.array_equal(space.snap(x), x)
        for i, point in enumerate(space.decode_many(x)):
            discrete = ~space.continuous
            assert np.array_equal(space.encode(point)[discrete], x[i][discrete])
            assert np.array_equal(space.snap(x[i : i + 1])[0], x[i])  # alone as among others


@drawn
@given(SPACES)
def test_dim_blocks_and_continuous_fit_together(space: Any) -> None:
    assert isinstance(space, SearchSpace)
    assert space.continuous.shape == (space.dim,) and space.continuous.dtype == bool
    ends = [0] + [block.stop for block in space.blocks]
    assert [block.start for block in space.blocks] == ends[:-1] and ends[-1] == space.dim
    assert math.isinf(space.size) == bool(space.continuous.any()) or space.size > 1e300
    assert all(space.continuous[block].all() or not space.continuous[block].any() for block in space.blocks)


@drawn
@given(SPACES, SPACES)
def test_spaces_are_equal_exactly_if_their_signatures_are(a: Any, b: Any) -> None:
    text = json.dumps(a.signature(), sort_keys=True, allow_nan=False)
    assert json.dumps(json.loads(text), sort_keys=True) == text
    assert a == a and hash(a) == hash(a) and repr(a)
    assert (a == b) == (text == json.dumps(b.signature(), sort_keys=True))


@pytest.mark.parametrize(
    ("space", "count"),
    [
        (Int(-3, 7), 11),
        (Int(5, 5), 1),
        (Int(5, 5, log=True), 1),
        (Int(1, 12, log=True), 12),
        (Bool(), 2),
        (Choice(["a", "b", "c"]), 3),
        (Choice([16, 32, 64], ordered=True), 3),
        (Choice(["only"]), 1),
        (Finite([[0.0, 1.0], [2.0, 5.0], [3.0, 3.0]]), 3),
        (Subset(6, 2), 15),
        (Subset(["a", "b", "c"], 3), 1),
        (Space([Int(1, 3), Bool(), Choice(["a", "b"])]), 12),
    ],
)
def test_spread_reaches_every_point_and_no_other(space: Any, count: int) -> None:
    x = space.sample(2000, np.random.default_rng(1))
    points = {repr(point) for point in space.decode_many(x)}
    assert len(points) == len(np.unique(x, axis=0)) == space.size == count


@pytest.mark.parametrize(
    "space",
    [
        Int(-3, 7),
        Int(0, 1),
        Bool(),
        Choice([1, 2, 3, 4]),
        Choice([16, 32, 64], ordered=True),
        Finite([[0.0], [0.1], [0.2], [7.0]]),
        Subset(5, 2),
        Space([Int(1, 3), Choice(["a", "b"])]),
    ],
)
def test_spread_makes_discrete_points_equally_likely(space: Any) -> None:
    n = 4000 * int(space.size)
    _, counts = np.unique(space.sample(n, np.random.default_rng(2)), axis=0, return_counts=True)
    assert np.abs(counts / 4000 - 1).max() < 5 / math.sqrt(4000)  # five standard deviations
    even = (np.arange(n) + 0.5) / n  # without noise, one coordinate at a time, the shares are exact
    if space.dim == 1:
        _, counts = np.unique(space.spread(even[:, None]), axis=0, return_counts=True)
        assert (counts == 4000).all()


def test_spread_of_log_integers_is_uniform_in_the_logarithm() -> None:
    n = 20_000
    x = Int(1, 1000, log=True).spread((np.arange(n)[:, None] + 0.5) / n)
    values = np.array(Int(1, 1000, log=True).decode_many(x))
    for low, high in [(1, 1), (2, 9), (10, 99), (100, 999)]:
        share = math.log((high + 0.5) / (low - 0.5)) / math.log(1000.5 / 0.5)
        assert np.mean((values >= low) & (values <= high)) == pytest.approx(share, abs=1e-4)


def test_spread_of_real_numbers_is_the_identity() -> None:
    u = np.random.default_rng(3).random((50, 3))
    for space in (Box(-1, 1, dim=3), Space([Float(0, 1), Float(1e-3, 1, log=True), Float(-5, 5)])):
        assert np.array_equal(space.spread(u), u)


@pytest.mark.parametrize(
    "space",
    [
        Int(-3, 3),
        Int(1, 30, log=True),
        Choice(list("abcd")),
        Choice([1, 2, 5], ordered=True),
        Bool(),
        Space([Int(1, 3), Bool(), Choice(["a", "b", "c"])]),
        Finite(np.random.default_rng(0).random((40, 3))),
        Finite(np.random.default_rng(0).random((40, 30))),
        Subset(7, 3),
    ],
)
def test_snap_finds_the_nearest_of_all_valid_rows(space: Any) -> None:
    rng = np.random.default_rng(4)
    valid = np.unique(space.sample(3000, rng), axis=0)
    assert len(valid) == space.size
    wild = rng.random((500, space.dim))
    gaps = distance(wild, valid)
    chosen = np.sqrt(((wild - space.snap(wild)) ** 2).sum(1))
    assert np.allclose(chosen, gaps.min(axis=1), rtol=0, atol=1e-9)


def test_two_categories_and_two_ends_are_one_apart() -> None:
    for space, a, b in [
        (Choice(["a", "b", "c"]), "a", "c"),
        (Choice([1, 2]), 1, 2),
        (Bool(), False, True),
        (Int(2, 9), 2, 9),
        (Int(2, 9, log=True), 2, 9),
        (Float(1e-4, 1, log=True), 1e-4, 1),
        (Choice([1, 2, 5], ordered=True), 1, 5),
    ]:
        assert distance(space.encode(a)[None], space.encode(b)[None])[0, 0] == pytest.approx(1.0, abs=1e-15)


def test_speed_critical_methods_take_whole_arrays() -> None:
    space = Space({f"p{i}": [Float(0, 1), Int(1, 9), Bool(), Choice(["a", "b", "c"])][i % 4] for i in range(66)})
    x = space.sample(2000, np.random.default_rng(0))
    assert x.shape == (2000, space.dim) and np.array_equal(space.snap(x), x)
    assert space.snap(x[:0]).shape == space.spread(x[:0]).shape == (0, space.dim)
    assert space.sample(0, np.random.default_rng(0)).shape == (0, space.dim)
    assert space.encode_many([]).shape == (0, space.dim)


@pytest.mark.parametrize(
    "space",
    [
        Finite(np.random.default_rng(0).random((50, 3))),
        Space({"layers": Int(1, 9), "kind": Choice(("a", "b", "c")), "skip": Bool()}),
        Space({"inner": Space({"a": Int(0, 2), "b": Bool()}), "c": Choice(("x", "y"), ordered=True)}),
        Int(1, 1000, log=True),
        Subset(8, 3),
    ],
    ids=repr,
)
def test_the_rows_of_a_space_are_all_of_its_points_once(space):
    x = space.rows()
    assert len(x) == space.size
    assert np.array_equal(space.snap(x), x)
    assert len({row.tobytes() for row in x + 0.0}) == len(x)


def test_what_cannot_be_listed_has_no_rows():
    assert Box(0, 1, dim=2).rows() is None
    assert Int(0, 2**40).rows() is None
    assert Space({f"p{i}": Int(0, 9) for i in range(9)}).rows() is None
    assert Space({"a": Float(0, 1), "b": Bool()}).rows() is None
