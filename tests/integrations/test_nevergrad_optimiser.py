"""Our optimiser in Nevergrad: parametrizations as spaces, failures, dumps, points that nobody asked for."""

import math

import numpy as np
import pytest

pytest.importorskip("nevergrad", reason="nevergrad is not installed: pip install '.[nevergrad]'")

from lamcts.samplers.nevergrad.method import kept_globals

with kept_globals():  # importing it draws from numpy's
    import nevergrad as ng

from lamcts.integrations.nevergrad import LaMCTS, ParametrizedLaMCTS, parts_of

MIXED = [
    ng.p.Scalar(lower=-1, upper=3),
    ng.p.Log(lower=1e-3, upper=10),
    ng.p.Scalar(lower=1, upper=10).set_integer_casting(),
    ng.p.Log(lower=1, upper=1000).set_integer_casting(),
    ng.p.Array(shape=(2, 2)),
    ng.p.Array(shape=(2,), lower=[0, 1], upper=[1, 2]),
    ng.p.Array(init=[1.0, 2.0], lower=0),
    ng.p.Scalar(init=4, lower=1, upper=10) * 2 + 1,
    ng.p.Array(shape=(3,)).set_bounds(-1, 1, method="arctan"),
    ng.p.Array(shape=(3,)).set_bounds(-1, 1, method="tanh"),
    ng.p.Choice(["a", "b", "c"]),
    ng.p.TransitionChoice([1, 2, 3, 4]),
    ng.p.Choice([1, 2, 3], repetitions=2),
    ng.p.Choice([ng.p.Scalar(lower=0, upper=1), 5]),
    ng.p.Instrumentation(1, ng.p.Scalar(), y=ng.p.Choice([1, 2]), z=ng.p.Dict(a=ng.p.Scalar(lower=0, upper=1))),
]


def right_of_one(x):
    return x[0] >= 1


def seeded(parametrization, seed=0, made=LaMCTS, **more):
    parametrization.random_state = np.random.RandomState(seed)
    return made(parametrization, **more)


@pytest.fixture(autouse=True)
def _apart():
    """Nevergrad draws a seed from numpy's global generator wherever a parametrization has none."""
    with kept_globals():
        yield


def written(part, point, parametrization):
    candidate = parametrization.spawn_child()
    part.write(candidate, point, parametrization)
    assert np.isfinite(candidate.get_standardized_data(reference=parametrization)).all()
    return candidate


@pytest.mark.parametrize("parametrization", MIXED, ids=lambda one: one.name[:40])
def test_a_candidate_is_at_the_point_that_was_written(parametrization):
    parametrization = parametrization.copy()
    parametrization.random_state = np.random.RandomState(0)
    for part in parts_of(parametrization):
        rows = part.space.sample(10, np.random.default_rng(0))
        ends = part.space.snap(np.array([[0.0] * part.space.dim, [1.0] * part.space.dim]))
        for x in np.vstack([rows, ends]):
            candidate = written(part, part.space.decode(x), parametrization)
            point = part.read(candidate, parametrization)
            again = part.read(written(part, point, parametrization), parametrization)
            assert part.space.encode(again) == pytest.approx(part.space.encode(point), abs=1e-5)
            if "Cl(0,None" not in parametrization.name:  # Nevergrad folds what lies beyond its only bound
                assert part.space.encode(point) == pytest.approx(x, abs=1e-5)


def test_what_has_bounds_is_searched_by_value_and_the_rest_by_steps():
    kinds = [[(type(part).__name__, part.space.signature()) for part in parts_of(one)] for one in MIXED]
    names = [[name for name, _ in own] for own in kinds]
    assert names[:4] == [["NumbersPart"]] * 4 and names[4] == ["StandardizedPart"] and names[6] == ["StandardizedPart"]
    log_whole = kinds[3][0][1]["members"][0]
    assert log_whole == {"kind": "int", "low": 1, "high": 1000, "log": True}
    assert names[13] == ["ChoicePart", "NumbersPart"] and names[14] == ["StandardizedPart", "ChoicePart", "NumbersPart"]
    assert len(kinds[12][0][1]["members"]) == 2


def test_a_mixed_problem_is_solved():
    parametrization = ng.p.Instrumentation(
        rate=ng.p.Log(lower=1e-5, upper=1.0),
        layers=ng.p.Scalar(lower=1, upper=12).set_integer_casting(),
        kind=ng.p.Choice(["relu", "gelu", None]),
        shift=ng.p.Array(shape=(2,)),
    )

    def loss(rate, layers, kind, shift):
        return abs(math.log10(rate) + 3) + abs(layers - 7) + (kind is not None) + float(((shift - 2) ** 2).sum())

    best = seeded(parametrization, budget=120).minimize(loss).kwargs
    assert best["layers"] == 7 and best["kind"] is None
    assert loss(**best) < 0.3


def test_the_same_generator_gives_the_same_points_and_what_the_user_began_with_is_first():
    def points(seed):
        optimizer = seeded(ng.p.Array(init=[3.0, -1.0]), seed, budget=20)
        asked = []
        for _ in range(20):
            asked.append(optimizer.ask())
            optimizer.tell(asked[-1], float((asked[-1].value ** 2).sum()))
        return np.array([one.value for one in asked])

    first = points(0)
    assert first[0] == pytest.approx([3.0, -1.0])
    assert np.array_equal(points(0), first)
    assert not np.array_equal(points(1)[1:], first[1:])


def test_an_optimum_two_hundred_first_steps_away_is_reached():
    optimizer = seeded(ng.p.Array(shape=(2,)), budget=100)
    assert np.abs(optimizer.minimize(lambda x: float(((x - 150) ** 2).sum())).value - 150).max() < 5


def test_a_discrete_space_may_be_smaller_than_the_budget():
    optimizer = seeded(ng.p.Choice(["a", "b", "c"]), budget=10)
    assert optimizer.minimize(lambda option: "bca".index(option)).value == "b"
    assert optimizer.num_tell == 10


@pytest.mark.filterwarnings("ignore::nevergrad.common.errors.NevergradWarning")
def test_a_loss_that_is_no_number_is_a_failure():
    optimizer = seeded(ng.p.Array(shape=(2,)), budget=40)
    best = optimizer.minimize(lambda x: math.nan if x[0] < 0.5 else float((x**2).sum()))
    assert 0.5 <= best.value[0] < 0.8
    assert len(optimizer._search.failures) > 0
    assert optimizer._search.best.value < 1


@pytest.mark.filterwarnings("ignore::nevergrad.common.errors.NevergradWarning")
def test_points_that_break_a_cheap_constraint_leave_nothing_pending():
    parametrization = ng.p.Array(shape=(2,))
    parametrization.register_cheap_constraint(right_of_one)
    optimizer = seeded(parametrization, budget=40)
    best = optimizer.minimize(lambda x: float((x**2).sum()))
    assert best.value[0] >= 1 and not optimizer._search.pending and not optimizer._out


def test_points_of_others_are_taken_too():
    optimizer = seeded(ng.p.Array(shape=(2,)), budget=20)
    optimizer.suggest(np.array([0.25, 0.5]))
    candidate = optimizer.ask()
    assert candidate.value.tolist() == [0.25, 0.5]
    optimizer.tell(candidate, 1.0)
    optimizer.tell(optimizer.parametrization.spawn_child(new_value=np.array([1.0, 1.0])), 3.0)
    assert optimizer.num_tell_not_asked == 2 and len(optimizer._search.seen) == 2


def test_a_dump_goes_on_where_it_stopped(tmp_path):
    def asked(optimizer, n):
        points = []
        for _ in range(n):
            candidate = optimizer.ask()
            points.append(candidate.value)
            optimizer.tell(candidate, float((candidate.value**2).sum()))
        return np.array(points)

    optimizer = seeded(ng.p.Array(shape=(2,)), budget=40, num_workers=2)
    asked(optimizer, 14)
    out = optimizer.ask()
    optimizer.dump(tmp_path / "dump.pkl")
    other = LaMCTS.load(tmp_path / "dump.pkl")
    assert len(other._search.seen) == 14 and len(other._search.pending) == 1
    for one in (optimizer, other):
        one.tell(out, 5.0)
    assert np.array_equal(asked(optimizer, 5), asked(other, 5))


def test_its_settings_are_those_of_our_optimizer():
    made = ParametrizedLaMCTS(sampler="uniform", n_init=3)
    assert "sampler='uniform'" in repr(made)
    optimizer = seeded(ng.p.Array(shape=(2,)), made=made, budget=20)
    optimizer.ask()
    assert type(optimizer._search.sampler).__name__ == "Uniform"
    assert optimizer._search.n_init == 3
