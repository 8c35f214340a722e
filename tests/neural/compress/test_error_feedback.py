"""The state of a compressed training: feedback, warm-up, momentum correction, nan, and what a resumed run needs."""

import io
import math

import pytest
import torch

from lamcts.neural import compress

SHAPES = [(6, 8), (40,), (3, 2, 5)]
CASES = {
    "none": {},
    "topk": {"keep": 0.1},
    "topk momentum": {"keep": 0.1, "values": "fp16", "momentum": 0.9, "warmup": 2},
    "shared-topk": {"keep": 0.1},
    "fft": {"keep": 0.3},
    "qsgd": {"bits": 4, "feedback": True},
    "terngrad": {},
    "powersgd": {"rank": 1},
}


def gradients(step: int, workers: int = 2, exact: bool = False) -> list[list[torch.Tensor]]:
    """Return gradients of all workers; exact ones are multiples of 2^-10, whose sums float32 holds."""
    maker = torch.Generator().manual_seed(step)
    drawn = [[torch.randn(shape, generator=maker) ** 3 for shape in SHAPES] for _ in range(workers)]
    return [[(one * 1024).round() / 1024 for one in each] for each in drawn] if exact else drawn


def workers_of(case: str, workers: int = 2) -> compress.SimulatedWorkers:
    return compress.SimulatedWorkers(case.split()[0], workers=workers, **CASES[case])


def flat(tensors: list[torch.Tensor | None]) -> torch.Tensor:
    return torch.cat([one.reshape(-1) for one in tensors if one is not None])


def same(one: object, other: object) -> bool:
    """Return whether two states are equal to the last bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.mark.parametrize("values", ["fp32", "fp16", "range8", "range3"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_sent_and_the_errors_are_exactly_the_gradients(values: str, workers: int) -> None:
    run = compress.SimulatedWorkers("topk", workers=workers, keep=0.05, values=values)
    total, sent = torch.zeros(118), torch.zeros(118)
    for step in range(6):
        now = gradients(step, workers, exact=True)
        total += sum(map(flat, now))
        sent += workers * flat(run.step(now))
    errors = run.state.state_dict()["errors"]
    left = sum(flat([one[key] for key in range(3)]) for one in errors)
    assert float(left.abs().max()) > 0
    assert torch.equal(sent + left, total)


def test_errors_are_kept_by_parameter_when_buckets_regroup() -> None:
    """A number that was not sent in one bucket is sent in another."""
    run = compress.SimulatedWorkers("topk", workers=1, keep=0.01, values="fp32")
    small, large = torch.tensor([1.0, 0.0]), torch.tensor([5.0, 6.0])
    assert flat(run.step([[small, large]], buckets=[[0, 1]])).tolist() == [0, 0, 0, 6]
    zeros = [[torch.zeros(2), torch.zeros(2)]]
    assert flat(run.step(zeros, buckets=[[1], [0]])).tolist() == [1, 0, 5, 0]


@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_continues_to_the_last_bit(case: str) -> None:
    straight, first = workers_of(case), workers_of(case)
    for step in range(3):
        straight.step(gradients(step))
        first.step(gradients(step))
    file = io.BytesIO()
    torch.save(first.state.state_dict(), file)
    file.seek(0)
    resumed = workers_of(case)
    resumed.state.load_state_dict(torch.load(file, weights_only=True))
    for step in range(3, 6):
        first_of_both = [flat(one.step(gradients(step))) for one in (straight, resumed)]
        assert torch.equal(*first_of_both)
    assert same(straight.state.state_dict(), resumed.state.state_dict())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_reaches_all_and_leaves_no_trace(case: str, bad: float) -> None:
    run = workers_of(case)
    for step in range(3):
        run.step(gradients(step))
    before = run.state.state_dict()
    broken = gradients(3)
    broken[1][0][2, 3] = bad
    means = flat(run.step(broken))
    assert bool(means.isnan().all()) and run.report().not_finite == 1
    after = run.state.state_dict()
    assert after.pop("step") == before.pop("step") + 1
    assert same(after, before)
    assert bool(flat(run.step(gradients(4))).isfinite().all())


def test_a_bucket_without_nan_is_reduced_although_another_has_one() -> None:
    run = workers_of("topk")
    broken = gradients(0)
    broken[0][0][0, 0] = math.nan
    means = run.step(broken, buckets=[[0], [1, 2]])
    assert means[0] is not None and bool(means[0].isnan().all())
    assert bool(flat(means[1:]).isfinite().all())
    assert sorted(run.state.state_dict()["errors"][0]) == [1, 2]


def test_momentum_correction_is_that_of_deep_gradient_compression() -> None:
    """Lin et al. (2018), algorithm 4: velocities add up, and both vectors are 0 where a number was sent."""
    run = compress.SimulatedWorkers("topk", workers=1, keep=0.1, values="fp32", momentum=0.9)
    velocity, error = torch.zeros(118), torch.zeros(118)
    for step in range(8):
        now = gradients(step, 1)
        velocity = 0.9 * velocity + flat(now[0])
        error = error + velocity
        chosen = error.abs().argsort()[-12:]
        expected = torch.zeros(118)
        expected[chosen] = error[chosen]
        error[chosen] = velocity[chosen] = 0
        assert torch.allclose(flat(run.step(now)), expected, atol=1e-6)


def test_warm_up_with_momentum_is_plain_momentum() -> None:
    run = compress.SimulatedWorkers("topk", workers=2, momentum=0.5, warmup=3)
    velocity = torch.zeros(118)
    for step in range(3):
        now = gradients(step)
        velocity = 0.5 * velocity + (flat(now[0]) + flat(now[1])) / 2
        assert torch.allclose(flat(run.step(now)), velocity, atol=1e-5)
    assert int(flat(run.step(gradients(3))).count_nonzero()) <= 4


def test_the_first_steps_are_not_compressed_in_a_warm_up() -> None:
    run = compress.SimulatedWorkers("fft", workers=2, keep=0.1, warmup=2)
    for step in range(3):
        now = gradients(step)
        exact = torch.equal(flat(run.step(now)), (flat(now[0]) + flat(now[1])) / 2)
        assert exact == (step < 2)


def test_alpha_and_the_error_are_those_of_their_definitions() -> None:
    run = compress.SimulatedWorkers("topk", workers=2, keep=0.1, values="fp32", feedback=False, measure=1)
    alphas, left, all_given = [], 0.0, 0.0
    for step in range(4):
        now = [flat(one) for one in gradients(step)]
        mean = (now[0] + now[1]) / 2
        sent = flat(run.step(gradients(step)))
        alphas.append(float((mean - sent).norm() / mean.norm()))
        for one in now:
            left += float(one.abs().sort().values[:-12].square().sum())
            all_given += float(one.square().sum())
    report = run.report()
    assert report.alpha == pytest.approx(max(alphas), rel=1e-5) and 0 < max(alphas) < 1
    assert report.error == pytest.approx(math.sqrt(left / all_given), rel=1e-5)
    without = compress.SimulatedWorkers("topk", workers=2, keep=0.1, values="fp32", feedback=False)
    without.step(gradients(0))
    assert without.report().alpha is without.report().error is None
    assert without.report().bits == pytest.approx(report.bits, rel=0.1)  # measuring is not counted


def test_opposite_gradients_have_no_alpha() -> None:
    """The thesis's example for which Assumption 3 fails (7.4.1)."""
    run = compress.SimulatedWorkers("topk", workers=2, keep=0.5, measure=1)
    run.step([[torch.tensor([-0.3, 0.5])], [torch.tensor([0.3, -0.5])]])
    assert run.report().alpha is None


def test_a_report_names_stages_bits_and_errors() -> None:
    run = workers_of("shared-topk")
    run.step(gradients(0))
    report = run.report()
    assert report.steps == 1 and set(report.seconds) == {"pick", "encode", "send"}
    assert all(seconds > 0 for seconds in report.seconds.values())
    assert "1 steps" in str(report) and "bits of payload a number" in str(report) and "alpha -" in str(report)


@pytest.mark.parametrize("case", CASES)
def test_one_worker_receives_nothing(case: str) -> None:
    run = workers_of(case, workers=1)
    means = run.step(gradients(0, 1))
    assert run.report().bits == 0 and bool(flat(means).isfinite().all())


@pytest.mark.parametrize("case", CASES)
def test_parameters_without_a_gradient_have_none_afterwards(case: str) -> None:
    run = workers_of(case)
    now = gradients(0)
    for one in now:
        one[1] = None
    now[0][2] = None  # of one worker alone: counts as 0
    means = run.step(now)
    assert means[1] is None and [means[i].shape for i in (0, 2)] == [torch.Size(SHAPES[i]) for i in (0, 2)]
    assert run.step([[None] * 3] * 2) == [None] * 3
    if case == "none":
        assert torch.equal(means[2], now[1][2] / 2)


def test_gradients_given_are_not_changed() -> None:
    for case in CASES:
        run, now, kept = workers_of(case), gradients(0), gradients(0)
        for _ in range(2):
            run.step(now)
        assert all(torch.equal(a, b) for x, y in zip(now, kept, strict=True) for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("scheme", compress.SCHEMES)
def test_empty_parameters_stay_empty(scheme: str) -> None:
    run = compress.SimulatedWorkers(scheme, workers=2)
    means = run.step([[torch.zeros(0), torch.ones(5, 5)]] * 2)
    assert means[0] is not None and means[0].shape == (0,) and means[1] is not None
    assert [one is not None and one.numel() for one in run.step([[torch.zeros(0)]] * 2)] == [0]


@pytest.mark.parametrize(("scheme", "grows"), [("terngrad", True), ("qsgd", False), ("topk", False)])
def test_feedback_does_not_converge_for_ternary_numbers(scheme: str, grows: bool) -> None:
    """An unbiased scheme may leave more than it was given; then errors grow from step to step."""
    options = {"keep": 0.2} if scheme == "topk" else {}
    run, norms = compress.SimulatedWorkers(scheme, workers=1, feedback=True, **options), []
    for step in range(101):
        run.step([[torch.randn(64, 64, generator=torch.Generator().manual_seed(step))]])
        norms.append(float(run.state.state_dict()["errors"][0][0].norm()))
    assert (norms[100] > 1.5 * norms[50] > 2 * norms[20]) == grows
