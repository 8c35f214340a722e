"""Compiled steps within a budget, and plans of modules that `torch.compile` wraps."""

import re
import warnings

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import inductor, size_of  # noqa: E402

NO_SOLVER = inductor.missing()
pytestmark = pytest.mark.skipif(NO_SOLVER is not None, reason=str(NO_SOLVER))
SHAPE = (128, 32)
EAGER = {"backend": "aot_eager"}  # needs no compiler of C++


def made():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        blocks = [nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.LayerNorm(32)) for _ in range(4)]
        return nn.Sequential(*blocks)


def batch():
    return torch.linspace(-1, 1, SHAPE[0] * SHAPE[1]).view(SHAPE)


def gradients(model, call, n=1):
    model.zero_grad()
    for _ in range(n):
        call(batch()).square().sum().backward()
    return [one.grad for one in model.parameters()]


def loss(output):
    return output.square().sum()


@pytest.fixture(autouse=True)
def _nothing_stays_compiled():
    yield
    torch.compiler.reset()


@pytest.fixture(scope="module")
def whole():
    return memory.fit_compiled(made(), batch(), "1GiB", loss=loss, **EAGER)


def test_a_step_that_fits_is_compiled_without_a_limit(whole):
    assert whole.limit_bytes is None and whole.measured_bytes == whole.whole_bytes < size_of("1GiB")
    assert "that fits: compiled without a limit" in str(whole) and whole.step_time.seconds > 0


def test_a_compiled_step_is_within_its_budget_and_has_the_gradients_of_eager_mode(whole):
    model, budget = made(), int(0.8 * whole.whole_bytes)
    expected = gradients(model, model)
    expected = [one.clone() for one in expected]
    found = memory.fit_compiled(model, batch(), budget, loss=loss, **EAGER)
    assert found.limit_bytes < found.measured_bytes <= budget < found.whole_bytes == whole.whole_bytes
    assert all(map(torch.equal, gradients(model, found.model), expected))
    with found as entered:  # another shape compiles again, with the same limit
        entered.model(batch()[:64]).square().sum().backward()
    assert f"compiled with at most {memory.size_text(found.limit_bytes)} of activations and gradients" in str(found)


def test_too_small_a_budget_says_the_least_that_works(whole, caplog):
    model, refused = made(), r"^budget: expected at least .* got 1.00 KiB: raise it, .*; memory\.fit plans eager steps"
    with caplog.at_level("INFO", "lamcts"), pytest.raises(ValueError, match=refused) as caught:
        memory.fit_compiled(model, batch(), "1KiB", loss=loss, **EAGER)
    least = re.search(r"at least ([\d.]+ \w+)", str(caught.value))[1]
    assert re.match(r"memory: compiling without a limit, at [\d.]+ s", caplog.messages[0])
    assert re.match(r"memory: a step takes [\d.]+ KiB of 1.00 KiB, at [\d.]+ s", caplog.messages[1])
    found = memory.fit_compiled(model, batch(), 1.01 * size_of(least), loss=loss, **EAGER)
    assert found.measured_bytes <= 1.01 * size_of(least) < whole.whole_bytes


def test_a_limit_that_is_too_small_is_a_value_error_where_a_step_compiles():
    message = r"^peak: expected at least [\d.]+ KiB, got 1.00 KiB"
    with pytest.raises(ValueError, match=message), inductor.peak_within("1KiB"):
        torch.compile(made(), **EAGER)(batch()).sum().backward()


def test_gradients_that_are_added_up_count_from_the_beginning(whole):
    model = made()
    weights = 4 * sum(one.numel() for one in model.parameters())
    added = memory.fit_compiled(model, batch(), "1GiB", loss=loss, accumulate=True, **EAGER)
    assert added.fixed_bytes == whole.fixed_bytes + weights
    assert whole.measured_bytes < added.measured_bytes <= whole.measured_bytes + weights


@pytest.mark.parametrize("wrapped", ["before", "after", "inside"])
def test_a_plan_runs_under_and_over_what_is_compiled(wrapped):
    """Twice a step: the first follows the trace, later ones a script."""
    model, plain = made(), made()
    expected = gradients(plain, plain)
    if wrapped == "inside":
        model[1] = torch.compile(model[1], **EAGER)
        warnings.filterwarnings("ignore", "1 is compiled: it runs uncompiled while a plan is carried out")
    given = torch.compile(model, **EAGER) if wrapped == "before" else model
    whole = memory.fit(given, batch(), "1GiB", loss=loss, machine=memory.Machine())
    found = memory.fit(
        given, batch(), int(0.8 * whole.measured_bytes), loss=loss, exchanges=0, machine=memory.Machine()
    )
    assert found.verified and not found.keeps_all
    call = torch.compile(model, **EAGER) if wrapped == "after" else given
    with found:
        for _ in range(4):
            assert all(map(torch.equal, gradients(model, call), expected))
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(gradients(model, call), expected, strict=True))


def test_a_plan_does_not_follow_a_model_that_is_called_in_two_ways():
    model = made()
    whole = memory.fit(model, batch(), "1GiB", loss=loss, machine=memory.Machine())
    found = memory.fit(
        model, batch(), int(0.8 * whole.measured_bytes), loss=loss, exchanges=0, machine=memory.Machine()
    )
    call = torch.compile(model, **EAGER)
    with found:
        gradients(model, model, 3)
        with pytest.raises(RuntimeError, match="all steps through the compiled module, or none"):
            call(batch())
