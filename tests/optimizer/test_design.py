"""The initial design: its size and its evenness, both by parameters and not by coordinates."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from lamcts import Optimizer
from lamcts.optimizer.design import DRAWS, Design, default_size
from lamcts.rng import Purpose, stream
from lamcts.samplers import Supports
from lamcts.samplers.uniform import Uniform
from lamcts.spaces import Bool, Box, Canonical, Choice, Finite, Float, Int, Space, Valid
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.regions.sobol import sobol

WORDS = Choice(list("abcd"))
CUBE = Box(0, 1, dim=3)


def words(count: int) -> Space:
    return Space([WORDS] * count)


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (Box(0, 1, dim=3), 10),
        (Box(0, 1, dim=20), 40),
        (Box(0, 1, dim=200), 100),
        (Space([Float(0, 1)] * 8), 16),
        (Space([*[Float(0, 1)] * 7, *[WORDS] * 3]), 12),  # 3 of 10 are discrete: exchanges lead
        (Space([Box(0, 1, dim=7), *[WORDS] * 3]), 12),
        (Space([Box(0, 1, dim=17), *[WORDS] * 3]), 12),
        (Space([Box(0, 1, dim=18), *[WORDS] * 3]), 42),  # too many for that: twice the parameters
        (Space([*[Float(0, 1)] * 5, *[WORDS] * 5]), 12),  # half of them: two more than parameters
        (words(3), 8),
        (words(8), 10),
        (words(40), 12),
        (WORDS, 8),
        (Space({"inner": words(5), "beside": Space([Bool(), Int(0, 9), words(4)])}), 12),
        (Finite(np.random.default_rng(0).random((50, 9))), 11),
        (Canonical(words(9), str, "all"), 11),
        (Space([*[Float(0, 1)] * 6, *[Choice(["constant"])] * 9]), 30),  # constants make no space discrete
        (Choice(["constant"]), 8),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_its_size_counts_parameters(space: SearchSpace, size: int) -> None:
    assert default_size(space) == size
    assert Design(space, "sobol", None, [], 0).n == size


def test_with_constraints_or_several_objectives_few_discrete_parameters_change_nothing() -> None:
    space = Space([*[Float(0, 1)] * 7, *[WORDS] * 3])
    assert Optimizer(space).n_init == 12
    assert Optimizer(space, constraints=1).n_init == 11
    assert Optimizer(space, objectives=2).n_init == 20


@pytest.mark.parametrize("columns", [{"objectives": 2}, {"constraints": 1}])
def test_in_more_than_40_dimensions_models_of_several_columns_begin_with_few_points(columns: Any) -> None:
    assert Optimizer([(0, 1)] * 40, **columns).n_init == (80 if "objectives" in columns else 41)
    assert Optimizer([(0, 1)] * 41, **columns).n_init == Optimizer([(0, 1)] * 1000, **columns).n_init == 12


def test_a_size_that_is_given_and_points_that_are_given_count() -> None:
    given = list(words(3).sample(11, np.random.default_rng(0)))
    assert Design(words(3), "sobol", None, given, 0).n == 11
    assert Design(words(3), "sobol", 5, given, 0).n == 11
    assert Design(words(3), "sobol", 30, given, 0).n == 30
    assert np.array_equal(Design(words(3), "sobol", 30, given, 0).rows(0, 11), np.array(given))


@pytest.mark.parametrize("kind", ["sobol", "lhs"])
@pytest.mark.parametrize("seed", range(3))
def test_every_option_of_every_category_comes_as_often(kind: Any, seed: int) -> None:
    space = Space([WORDS, Bool(), Choice([1, 2, 4, 8], ordered=True), Int(0, 15), Choice(range(8)), Box(0, 1, dim=2)])
    points = [space.decode(x) for x in Design(space, kind, 16, [], seed).rows(0, 16)]
    for i in range(5):
        counts = Counter(point[i] for point in points)
        assert set(counts.values()) == {16 // len(counts)}
        assert len(counts) == (4, 2, 4, 16, 8)[i]
    assert sorted(int(16 * point[5][0]) for point in points) == list(range(16))


@pytest.mark.parametrize("seed", range(3))
def test_options_that_do_not_divide_the_points_come_nearly_as_often(seed: int) -> None:
    space = Space([Choice(list("abcde"))] * 10)
    points = [space.decode(x) for x in Design(space, "sobol", None, [], seed).rows(0, 12)]
    for i in range(10):
        counts = Counter(point[i] for point in points)
        assert len(counts) == 5
        assert max(counts.values()) <= 4


@pytest.mark.parametrize("space", [Box(-5, 10, dim=6), Space([Float(0, 1), Float(1, 9, log=True)])], ids=repr)
@pytest.mark.parametrize("kind", list(DRAWS))
def test_where_all_is_real_it_is_what_it_always_was(space: SearchSpace, kind: Any) -> None:
    expected = space.spread(DRAWS[kind](9, space.dim, stream(4, Purpose.DESIGN)))
    assert np.array_equal(Design(space, kind, 9, [], 4).rows(0, 9), expected)


def test_one_number_of_the_sequence_chooses_an_option() -> None:
    space = Space([Float(0, 1), WORDS, Float(0, 1)])
    u = sobol(8, 3, stream(0, Purpose.DESIGN))
    x = Design(space, "sobol", 8, [], 0).rows(0, 8)
    assert np.array_equal(x[:, [0, 5]], u[:, [0, 2]])
    assert x[:, 1:5].argmax(1).tolist() == np.floor(4 * u[:, 1]).astype(int).tolist()


# The centre ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Centred(Uniform):
    """A sampler that needs no other points than a first guess."""

    supports: ClassVar[Supports] = Supports(centre=True)


def first(count: int, space: SearchSpace = CUBE, **options: Any) -> list[Any]:
    """Return the first points that a centred sampler's optimizer proposes."""
    opt = Optimizer(space, sampler=Centred(), seed=3, **options)
    return [trial.x.tolist() for trial in opt.ask(count)]


def test_a_sampler_that_starts_at_the_centre_has_that_point_for_its_design_unless_others_are_given() -> None:
    assert Optimizer(CUBE, sampler=Centred()).n_init == 1 and first(1) == [[0.5, 0.5, 0.5]]
    guesses = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert first(1, x0=guesses[0]) == guesses[:1] and first(2, x0=guesses) == guesses
    assert Optimizer(CUBE, sampler=Centred(), x0=guesses).n_init == 2


def test_points_beyond_the_first_guess_are_those_of_a_sobol_sequence_and_none_is_none() -> None:
    sequence = sobol(4, 3, stream(3, Purpose.DESIGN)).tolist()
    assert first(5, n_init=5) == [[0.5] * 3, *sequence]
    assert first(5, n_init=5, x0=[0.1] * 3) == [[0.1] * 3, *sequence]
    assert Optimizer(CUBE, sampler=Centred(), n_init=0).n_init == 0 and [0.5] * 3 not in first(4, n_init=0)


@pytest.mark.parametrize("columns", [{"objectives": 2}, {"constraints": 1}])
def test_with_several_columns_the_design_is_the_usual_one(columns: Any) -> None:
    opt, other = (Optimizer(CUBE, sampler=sampler, seed=3, **columns) for sampler in (Centred(), Uniform()))
    assert opt.n_init == other.n_init > 1
    assert np.array_equal(opt.design.rows(0, 99), other.design.rows(0, 99))


def test_the_centre_is_snapped_and_one_that_is_not_valid_gives_way_to_a_sobol_point() -> None:
    steps = Space([Float(0, 1), Int(0, 3), Choice(["a", "b"])])
    assert first(1, steps) == steps.snap(np.full((1, 4), 0.5)).tolist()
    hole = Valid(CUBE, lambda point: abs(point - 0.5).max() > 0.1)
    assert first(1, hole) == hole.spread(sobol(1, 3, stream(3, Purpose.DESIGN))).tolist() != [[0.5] * 3]


def test_known_rows_take_the_place_of_the_centre() -> None:
    opt = Optimizer(CUBE, sampler=Centred(), seed=3)
    opt.tell_point([0.2, 0.2, 0.2], 1.0)
    assert opt.ask(1)[0].x.tolist() != [0.5, 0.5, 0.5]


def test_a_loaded_optimizer_begins_at_the_centre_as_well(tmp_path: Any) -> None:
    Optimizer(CUBE, sampler="gp_cma", seed=3, n_init=4).save(tmp_path / "run.db")
    loaded, whole = Optimizer.load(tmp_path / "run.db"), Optimizer(CUBE, sampler="gp_cma", seed=3, n_init=4)
    assert [trial.x.tolist() for trial in loaded.ask(4)] == [trial.x.tolist() for trial in whole.ask(4)]
    assert loaded.seen.pending_x()[0].tolist() == [0.5, 0.5, 0.5]


# In parts -----------------------------------------------------------------------------------------------------------


def test_rows_come_in_parts_as_well_as_at_once() -> None:
    design = Design(words(5), "sobol", 9, [], 0)
    whole = Design(words(5), "sobol", 9, [], 0).rows(0, 9)
    assert np.array_equal(np.vstack([design.rows(0, 2), design.rows(2, 7), design.rows(7, 20)]), whole)
    assert design.rows(9, 12).shape == (0, 20)


def test_a_start_that_fails_is_followed_by_points_of_the_whole_space() -> None:
    options = {"constraints": ["g <= 0"], "x0": [[0.5, 0.5]], "seed": 0}
    well, badly = (Optimizer([(0, 1)] * 2, **options) for _ in range(2))
    for opt, value in ((well, {"value": 1.0, "g": -1.0}), (badly, None)):
        opt.tell(opt.ask(), [value])
    steps, others = ([trial.point for trial in opt.ask(2)] for opt in (well, badly))
    assert np.allclose(steps, [[0.6, 0.5], [0.5, 0.6]]) and not np.allclose(others, steps)
    spread = Optimizer([(0, 1)] * 2, design="lhs", **options)
    assert not np.allclose([trial.point for trial in spread.ask(3)[1:]], steps)
