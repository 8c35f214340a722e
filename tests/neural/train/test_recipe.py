import numpy as np
import pytest

from lamcts.neural.train import Recipe


def test_the_step_falls_as_the_schedule_says():
    cosine = Recipe(epochs=10, rate=2.0, warmup=2.0)
    assert [cosine.rate_at(epoch) for epoch in (0, 1, 2, 6, 10)] == pytest.approx([0, 1, 2, 1, 0])
    step = Recipe(epochs=8, rate=1.0, schedule="step", drops=(0.5, 0.75), drop=0.1)
    assert [step.rate_at(epoch) for epoch in (3.9, 4, 6, 8)] == pytest.approx([1, 0.1, 0.01, 0.01])
    assert Recipe(rate=0.3, schedule="constant").rate_at(5) == 0.3
    assert Recipe(epochs=1, warmup=1.0, rate=1.0).rate_at(0.5) == 0.5


def test_paths_are_dropped_more_often_as_epochs_pass():
    recipe = Recipe(epochs=5, drop_path=0.2)
    assert [recipe.drop_path_at(epoch) for epoch in range(5)] == pytest.approx(np.linspace(0, 0.2, 5))
    assert Recipe(epochs=1, drop_path=0.2).drop_path_at(0) == 0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"optimiser": "adam"}, "did you mean 'adamw'"),
        ({"epochs": 0}, "epochs: expected a whole number of at least 1"),
        ({"momentum": 1.0}, "momentum: expected a number of at least 0 and below 1"),
        ({"decay": -1.0}, "decay: expected a number of at least 0"),
        ({"rate": 0.0}, "rate and drop above 0"),
        ({"drops": (0.7, 0.5)}, "ascending shares"),
        ({"mixup": 0.2, "cutmix": 1.0}, "got both"),
        ({"clip": float("nan")}, "clip"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        Recipe(**wrong)
