import numpy as np
import pytest

from lamcts.errors import MissingExtra
from lamcts.neural import metadnn
from lamcts.neural.metadnn import KINDS, MetaDnn, meta_dnn

SMALL = {"hidden": (32,), "steps": 3, "embedding": 8, "state": 16, "epochs": 40, "batch": 32, "rate": 1e-2}


def rows(n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features of three layers of four bits, and accuracies with a step and a slope."""
    x = np.random.default_rng(seed).integers(0, 2, (n, 12)).astype(float)
    return x, 0.5 + 0.3 * x[:, 0] + 0.02 * x[:, 1:].sum(1)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_predicts_rows_that_it_has_not_seen(torch, kind):
    x, y = rows()
    predicted = metadnn.make(kind, **SMALL).fit(x[:180], y[:180])(x[180:])
    assert predicted.shape == (60,) and predicted.dtype == np.float64
    assert np.corrcoef(predicted, y[180:])[0, 1] > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_predictions_and_another_seed_others(torch, kind):
    x, y = rows(40)
    made = metadnn.make(kind, **SMALL | {"epochs": 3})
    first, again, other = (made.fit(x, y, seed)(x) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows_and_equal_accuracies_are_learnt_too(torch, kind, n):
    x, y = rows(n)
    made = metadnn.make(kind, **SMALL)
    assert np.isfinite(made.fit(x, y)(x)).all()
    assert np.allclose(made.fit(x, np.full(n, 0.25))(x), 0.25, atol=0.3)
    assert made.fit(x, y)(x[:0]).shape == (0,)


@pytest.mark.parametrize("kind", KINDS)
def test_a_later_fit_goes_on_from_an_earlier_one(torch, kind):
    x, y = rows()
    short = metadnn.make(kind, **SMALL | {"epochs": 1, "rate": 1e-4})
    long = metadnn.make(kind, **SMALL).fit(x, y)
    cold, warm = (np.square(short.fit(x, y, 5, start)(x) - y).mean() for start in (None, long))
    assert warm < cold / 4


def test_a_start_of_another_kind_or_width_is_refused(torch):
    x, y = rows(20)
    made = MetaDnn(**SMALL)
    for start in (metadnn.make("multistage", **SMALL).fit(x, y), made.fit(x[:, :9], y)):
        with pytest.raises(ValueError, match="expected start to be a predictor of these settings"):
            made.fit(x, y, 0, start)


def test_each_range_of_accuracy_has_an_expert_and_one_answers(torch):
    x, y = rows()
    hard = metadnn.make("multistage", **SMALL, cuts=(0.7,)).fit(x, y)
    assert len(hard.experts) == 2 and hard.cuts.tolist() == [0.7]
    answers = np.column_stack([expert(x) for expert in hard.experts])
    assert ((hard(x)[:, None] == answers).sum(1) >= 1).all()
    assert ((hard(x) > 0.7) == (y > 0.7)).mean() > 0.9 and np.abs(hard(x) - y).mean() < 0.05
    assert metadnn.make("multistage", **SMALL, stages=2).fit(x, y).cuts.tolist() == [(y.min() + y.max()) / 2]
    soft = metadnn.make("multistage", **SMALL, cuts=(0.7,), routing="soft").fit(x, y)(x)
    assert ((answers.min(1) - 1e-9 <= soft) & (soft <= answers.max(1) + 1e-9)).all()
    assert len(metadnn.make("multistage", **SMALL, cuts=(5.0,)).fit(x, y).experts) == 1  # nobody reaches that range


def test_what_cannot_be_learnt_from_is_refused_with_the_cure(torch):
    x, y = rows(6)
    made = metadnn.make("recurrent", **SMALL)
    for features, accuracy, wrong in [
        (x[:1], y[:1], "at least 2 rows"),
        (x, y[:5], r"features \[n, k\] and accuracies \[n\]"),
        (x, np.where(y > 0.6, np.nan, y), "leave failed rows out"),
        (x[:, :11], y, "3 layers of equal width, got 11; set steps"),
    ]:
        with pytest.raises(ValueError, match=wrong):
            made.fit(features, accuracy)
    with pytest.raises(ValueError, match=r"expected features \[m, 12\], as in the fit, got \[6, 4\]"):
        made.fit(x, y)(x[:, :4])


def test_settings_that_make_no_sense_are_refused():
    for given, wrong in [
        ({"kind": "multistages"}, "did you mean 'multistage'"),
        ({"routing": "firm"}, "expected one of hard, soft"),
        ({"hidden": ()}, "at least one layer"),
        ({"hidden": (8, 0)}, "hidden: expected a whole number"),
        ({"epochs": 0}, "epochs: expected a whole number"),
        ({"cuts": (0.5, 0.2)}, "ascending accuracies"),
    ]:
        with pytest.raises(ValueError, match=wrong):
            MetaDnn(**given)


def test_without_torch_fitting_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setattr(meta_dnn, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"\.\[torch\]"):
        MetaDnn().fit(*rows(4))
