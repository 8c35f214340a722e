import json

import numpy as np
import pytest

from lamcts.models import local
from lamcts.models.coding import Inputs
from lamcts.models.fit import fit
from lamcts.models.local import LocalModel, ModelState
from lamcts.models.output_transforms import plain
from lamcts.models.posterior import Posterior
from lamcts.models.priors import REAL_PRIOR
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.constrained_rank import PRUNED
from lamcts.outcomes.observations import Observations
from lamcts.samplers.parts.record import from_json, to_json
from lamcts.types import Floats

AT = np.random.default_rng(9).random((10, 3))
POINTS = Inputs.of(AT)
RNG = np.random.default_rng


def add(seen: Observations, n: int, rng: np.random.Generator) -> None:
    x = rng.random((n, seen.dim))
    y = np.sin(5 * x).sum(1)
    seen.append(x, y, np.full(n, np.nan), np.full(n, -1), np.full(n, -1))


def model_of(seen: Observations, state: ModelState | None = None) -> LocalModel:
    return LocalModel(seen, Inputs.of, REAL_PRIOR, state or ModelState(), plain, real=True)


def expected(surrogate: Surrogate) -> Floats:
    """Return the expected losses at POINTS, in the units of the model."""
    return surrogate.model.parts[0].expect(POINTS)[:, 0]


def grown(steps: int) -> tuple[Observations, LocalModel, Surrogate]:
    seen, rng = Observations(3), RNG(0)
    model = model_of(seen)
    add(seen, 12, rng)
    surrogate = model.update(0, RNG(0))
    for _ in range(steps):
        add(seen, 1, rng)
        surrogate = model.update(0, RNG(0))
    return seen, model, surrogate


def test_the_model_is_the_process_over_its_rows() -> None:
    seen, model, surrogate = grown(3)
    hyper = model.state.columns["loss", 0, 0]
    assert hyper is not None
    fresh = Posterior.of(Inputs.of(seen.x), plain(seen.y)[:, None], hyper)
    assert np.array_equal(expected(surrogate), fresh.expect(POINTS)[:, 0])


def test_a_restored_model_goes_on_bit_for_bit() -> None:
    for steps in (0, 1, 3, 30, 50):
        seen, model, surrogate = grown(steps)
        saved = json.dumps(to_json(model.state))
        copy = model_of(seen, from_json(ModelState, json.loads(saved)))
        assert json.dumps(to_json(copy.state)) == saved
        assert np.array_equal(expected(copy.update(0, RNG(0))), expected(surrogate))
        add(seen, 2, RNG(5))
        assert np.array_equal(expected(copy.update(0, RNG(0))), expected(model.update(0, RNG(0))))


def test_the_model_stays_small_and_keeps_the_nearest_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_ROWS", 30)
    monkeypatch.setattr(local, "FIT_ROWS", 20)
    seen = Observations(3)
    add(seen, 200, RNG(1))
    surrogate = model_of(seen).update(0, RNG(0))
    far = np.linalg.norm(seen.x - seen.x[0], axis=1)
    nearest = np.sort(np.argsort(far)[:30])
    assert np.array_equal(surrogate.model.parts[0].inputs.numbers, seen.x[nearest])


def test_of_many_rows_a_device_has_more_and_all_of_them_decide_on_the_hyper_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("gpytorch", reason="gpytorch is not installed: pip install '.[torch]'")
    for name, rows in {"MAX_ROWS": 30, "FIT_ROWS": 20, "DEVICE_FROM": 60, "DEVICE_ROWS": 90}.items():
        monkeypatch.setattr(local, name, rows)
    seen, found = Observations(3), dict[tuple[int, str | None], Posterior]()
    for count in (60, 61, 120):
        add(seen, count - len(seen), RNG(count))
        for device in (None, "cpu"):
            model = LocalModel(seen, Inputs.of, REAL_PRIOR, ModelState(), plain, real=True, device=device)
            found[count, device] = model.update(0, RNG(0)).model.parts[0]
    assert {key: len(part.z) for key, part in found.items() if key[1]} == {
        (60, "cpu"): 30,
        (61, "cpu"): 61,
        (120, "cpu"): 90,
    }
    assert np.array_equal(found[60, "cpu"].expect(POINTS), found[60, None].expect(POINTS))
    part = found[120, "cpu"]
    hyper, _ = fit(part.inputs, part.z, REAL_PRIOR.of(0, 3))
    np.testing.assert_allclose(part.hyper.lengths, hyper.lengths, rtol=1e-3)


def test_failures_never_enter_the_model() -> None:
    seen, model, before = grown(0)
    seen.append(seen.x[:2] / 2, np.array([np.nan, np.inf]), np.full(2, np.nan), np.full(2, 0), np.full(2, 0))
    after = model.update(0, RNG(0))
    assert len(after.model.parts[0].z) == len(before.model.parts[0].z)
    assert np.isfinite(expected(after)).all()


def test_pruned_rows_are_modelled_as_predicted_with_the_deviation_of_the_prediction() -> None:
    seen, model, before = grown(3)
    nowhere, k = np.full(len(AT), np.nan), len(AT)
    rows = seen.append(AT, nowhere, nowhere, np.full(k, -1), np.full(k, -1), kind=np.full(k, PRUNED))
    assert len(model.update(0, RNG(0)).model.parts[0].z) == len(before.model.parts[0].z)  # nothing is predicted
    high, found = float(seen.y[seen.good].max()), list[Floats]()
    for deviation in (0.0, 1e9):
        seen.predicted |= {int(row): ((high, deviation),) for row in rows}
        found.append(expected(model_of(seen).update(0, RNG(0))))
    assert (found[0] > found[1]).all()


@pytest.mark.parametrize("level", [3, 1])
def test_where_the_better_half_is_level_gains_have_a_unit_all_the_same(level: int) -> None:
    """Without one, a global search promises nothing while a local one moves along axes that do not matter."""
    seen, y = Observations(3), np.array([1.0, 1.0, float(level)])
    seen.append(np.eye(3), y, np.full(3, np.nan), np.full(3, -1), np.full(3, -1))
    model = model_of(seen)
    model.update(0, RNG(0))
    assert 0 < model.unit < np.inf


@pytest.mark.parametrize(("losses", "excess"), [(1, 1.0), (6, -1.0)], ids=["before a feasible row", "many losses"])
def test_reading_an_acquisition_in_any_order_draws_nothing_and_its_draws_follow_the_seed(
    losses: int, excess: float
) -> None:
    n, seen = 12, Observations(3, losses=losses, constraints=1)
    x, none = RNG(0).random((n, 3)), np.full(n, -1)
    f = np.square(x[:, None] - np.linspace(0, 1, losses)[:, None]).sum(2)
    seen.append(x, f, np.full(n, np.nan), none, none, excess * (1 + x[:, :1]), np.zeros(n, np.int64))

    def values(seed: int, step: int) -> list[Floats]:
        rng = RNG(seed)
        surrogate = model_of(seen).update(0, rng)
        before, both = rng.bit_generator.state, [surrogate, surrogate.fantasize(POINTS.at(np.arange(1)))]
        found = [each.value(POINTS) for each in both[::step]][::step]
        assert rng.bit_generator.state == before
        return found

    assert np.array_equal(values(1, 1), values(1, -1))
    assert not np.array_equal(values(1, 1)[0], values(2, 1)[0])
