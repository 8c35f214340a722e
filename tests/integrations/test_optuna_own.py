"""The sampler passes the tests that Optuna has for its own samplers."""

import pytest

pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")
own = pytest.importorskip("optuna.testing.pytest_samplers", reason="Optuna 5 brings these tests")

from lamcts.integrations.optuna import LamctsSampler  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning", "ignore::FutureWarning")


class TestOfOneObjective(own.BasicSamplerTestCase, own.RelativeSamplerTestCase, own.SingleOnlySamplerTestCase):
    @pytest.fixture(params=[0, None], ids=["at once", "after a design"])
    def sampler(self, request):
        return lambda: LamctsSampler(seed=0, n_startup_trials=request.param)


class TestOfSeveralObjectives(own.BasicSamplerTestCase, own.RelativeSamplerTestCase, own.MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: LamctsSampler(seed=0, several=True)
