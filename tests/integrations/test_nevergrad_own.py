"""Our optimiser passes the tests that Nevergrad has for its own."""

import pytest

pytest.importorskip("nevergrad", reason="nevergrad is not installed: pip install '.[nevergrad]'")

from lamcts.samplers.nevergrad.method import kept_globals

with kept_globals():  # importing it draws from numpy's
    from nevergrad.optimization import optimizerlib, registry

    own = pytest.importorskip("nevergrad.optimization.test_optimizerlib", reason="needs what Nevergrad tests with")

from lamcts.integrations.nevergrad import LaMCTS

TESTS = [
    "test_optimizers",
    "test_optimizers_minimal",
    "test_infnan",
    "test_optim_pickle",
    "test_parametrization_offset",
]
pytestmark = pytest.mark.filterwarnings("ignore")  # their tests are not written for warnings as errors


@pytest.fixture
def _apart(monkeypatch):
    """Their tests look the optimiser up in their library, and draw from numpy's global generator."""
    monkeypatch.setattr(optimizerlib, "LaMCTS", LaMCTS, raising=False)
    with kept_globals():
        yield


@pytest.mark.usefixtures("_apart")
@pytest.mark.parametrize("name", TESTS)
@pytest.mark.dear
def test_it_passes_a_test_of_nevergrads_own(name):
    test = getattr(own, name)
    while hasattr(test, "__wrapped__"):
        test = test.__wrapped__
    test("LaMCTS")


@pytest.mark.usefixtures("_apart")
def test_it_finds_the_optimum_that_nevergrad_asks_for():
    own.check_optimizer(registry["LaMCTS"], budget=300, verify_value=True)
