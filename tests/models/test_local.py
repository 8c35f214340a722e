import json

import numpy as np
import pytest

from lamcts.models import local
from lamcts.models.coding import Inputs
from lamcts.models.kernel import Hyper
from lamcts.models.local import LocalModel, ModelState, grouped
from lamcts.models.multi_output import MultiOutput
from lamcts.models.output_transforms import ColumnUnits, Scale
from lamcts.models.posterior import Posterior
from lamcts.models.priors import LENGTH_LOCATION
from lamcts.outcomes.constrained_rank import PRUNED
from lamcts.outcomes.observations import Observations
from lamcts.samplers.parts.record import from_json, to_json
from lamcts.types import Rows

MOST_ROWS = 40
AT = np.random.default_rng(9).random((10, 3))
POINTS = Inputs.of(AT)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are small, and their fits are short."""
    monkeypatch.setattr(local, "limits", lambda dim: (MOST_ROWS, 20))
    monkeypatch.setattr(local, "ITERATIONS", 5)


def add(seen: Observations, n: int, rng: np.random.Generator, low: float = 0.0, high: float = 1.0) -> None:
    x = rng.uniform(low, high, (n, seen.dim))
    y = np.sin(5 * x).sum(1)
    seen.append(x, y, np.full(n, np.nan), np.full(n, -1), np.full(n, -1))


def grown(steps: int) -> tuple[Observations, LocalModel, MultiOutput]:
    seen, rng = Observations(3), np.random.default_rng(0)
    model = LocalModel(seen, LENGTH_LOCATION)
    add(seen, 12, rng)
    posterior = model.update(seen.x[0])
    for _ in range(steps):
        add(seen, 1, rng)
        posterior = model.update(seen.x[0])
    return seen, model, posterior


def test_the_model_is_the_process_over_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "GROWTH", 10.0)
    seen, model, posterior = grown(1)  # no refit: the second row set grew from the first
    y = seen.y[model.rows]
    assert len(y) == 13
    anew = Posterior(Inputs.of(seen.x[model.rows]), Scale.of(y).down(y)[:, None], model.state.hypers[0])
    assert np.abs(posterior.expect(POINTS) - anew.expect(POINTS)).max() < 1e-9


def test_a_restored_model_goes_on_bit_for_bit() -> None:
    for steps in (0, 1, 3, 30, 50):
        seen, model, posterior = grown(steps)
        saved = json.dumps(to_json(model.state))
        copy = LocalModel(seen, LENGTH_LOCATION, from_json(ModelState, json.loads(saved)))
        assert json.dumps(to_json(copy.state)) == saved
        assert np.array_equal(copy.update(seen.x[0]).expect(POINTS), posterior.expect(POINTS))
        add(seen, 2, np.random.default_rng(5))
        assert np.array_equal(copy.update(seen.x[0]).expect(POINTS), model.update(seen.x[0]).expect(POINTS))


def test_the_model_stays_small_and_keeps_the_nearest_rows() -> None:
    seen, model, _ = grown(100)
    assert len(model.rows) <= MOST_ROWS
    seen, rng = Observations(3), np.random.default_rng(1)
    add(seen, 200, rng)
    model = LocalModel(seen, LENGTH_LOCATION)
    model.update(seen.x[0])
    far = np.linalg.norm(seen.x - seen.x[0], axis=1)
    assert set(model.rows) == set(np.argsort(far)[:30])  # 3/4 of 40; all length scales were equal when it chose


def test_far_rows_of_other_searches_are_left_out() -> None:
    seen, rng = Observations(3), np.random.default_rng(1)
    add(seen, 200, rng, high=0.3)
    model = LocalModel(seen, LENGTH_LOCATION)
    model.update(seen.x[0])
    before = set(model.rows)
    add(seen, 1, rng, low=0.9)
    model.update(seen.x[0])
    assert set(model.rows) == before


def test_a_constraint_that_comes_up_later_joins_the_groups() -> None:
    seen, rng = Observations(3, losses=2, constraints=2), np.random.default_rng(2)
    model, none = LocalModel(seen, LENGTH_LOCATION), np.full(20, -1)
    for bound in (2.0, 0.5):  # the second constraint is first violated by later rows
        x = rng.random((20, 3))
        f, g = np.square(x[:, :2]), np.column_stack([x[:, 0] - 0.4, x[:, 1] - bound])
        seen.append(x, f, np.full(20, np.nan), none, none, g)
        if bound > 1:
            model.update(seen.x[0])
            model.state.hypers = [Hyper(np.full(3, length), 1e-3) for length in (0.5, 0.7, 0.9)]
    x, f, g = seen.x, seen.f, seen.g
    model.state.rows = list(range(40))
    columns = grouped(ColumnUnits.of(f, g).down(f, g), 2)
    alone = [Posterior(Inputs.of(x), z, hyper) for z, hyper in zip(columns, model.state.hypers, strict=True)]
    assert np.allclose(model._built().expect(POINTS), MultiOutput(alone, 2).expect(POINTS), atol=1e-8)


def test_failures_never_enter_the_model() -> None:
    seen, model, _ = grown(0)
    seen.append(seen.x[:2] / 2, np.array([np.nan, np.inf]), np.full(2, np.nan), np.full(2, 0), np.full(2, 0))
    before = model.rows
    posterior = model.update(seen.x[0])
    assert np.array_equal(model.rows, before)
    assert np.isfinite(posterior.expect(POINTS)).all()


def test_pruned_rows_are_modelled_as_predicted_with_the_deviation_of_the_prediction() -> None:
    seen, model, before = grown(3)
    nowhere, k = np.full(len(AT), np.nan), len(AT)
    rows = seen.append(AT, nowhere, nowhere, np.full(k, -1), np.full(k, -1), kind=np.full(k, PRUNED))
    assert model.update(AT[0]) is before and not set(rows) & set(model.rows)  # nothing is predicted
    high = float(seen.y[seen.good].max())
    sure, unsure = told(seen, rows, high, (0.0, 1e9))
    expected = [own.units.losses[0].up(own.update(AT[0]).expect(POINTS)[:, 0]) for own in (sure, unsure)]
    assert (expected[0] > expected[1]).all()


def told(seen: Observations, rows: Rows, loss: float, deviations: tuple[float, ...]) -> list[LocalModel]:
    """Return models of the same rows, the pruned ones with a predicted loss, for each deviation of it."""
    models = []
    for deviation in deviations:
        own = Observations(seen.dim)
        own.append(seen.x, seen.f, seen.seconds, seen.trial, seen.source, kind=seen.kind)
        own.predicted |= {int(row): ((loss, deviation),) for row in rows}
        models.append(LocalModel(own, LENGTH_LOCATION))
    return models
