"""Wrong settings and gradients are reported with what was expected, what came, and the cure."""

import math

import pytest
import torch

from lamcts.neural import compress
from lamcts.neural.compress.group import Simulated


@pytest.mark.parametrize(
    ("scheme", "options", "error", "message"),
    [
        ("top-k", {}, ValueError, "expected a scheme, one of 'none', 'topk', 'shared-topk', 'fft', .*, got 'top-k'"),
        ("topk", {"keep": 0}, ValueError, r"expected keep in \(0, 1\], the share of numbers to send, got 0"),
        ("topk", {"keep": 1.5}, ValueError, r"expected keep in \(0, 1\].*got 1.5"),
        ("fft", {"keep": math.nan}, ValueError, r"expected keep in \(0, 1\].*got nan"),
        ("shared-topk", {"keep": lambda step: -1.0}, ValueError, r"got -1.0 in step 0"),
        ("topk", {"values": "int8"}, ValueError, "expected values 'fp32', 'fp16' or 'range2' to 'range16', got 'int8'"),
        ("shared-topk", {"values": "range8"}, ValueError, "expected values 'fp32' or 'fp16', which an all-reduce"),
        ("qsgd", {"keep": 0.1}, TypeError, "expected bits= and block= for the scheme 'qsgd', got keep"),
        ("none", {"keep": 0.1}, TypeError, "expected no options for the scheme 'none', got keep"),
        ("qsgd", {"bits": 9}, ValueError, "expected bits from 2 to 8, got 9"),
        ("qsgd", {"block": 0}, ValueError, "expected a block of 1 number or more, got 0"),
        ("terngrad", {"clip": 0}, ValueError, "expected clip above 0, in standard deviations, got 0"),
        ("powersgd", {"rank": 0}, ValueError, "expected a rank of 1 or more, got 0"),
        ("fft", {"momentum": 0.9}, ValueError, "expected momentum=0 for 'fft', got 0.9: only sparse schemes"),
        ("topk", {"momentum": 1.0}, ValueError, r"expected momentum in \[0, 1\), got 1.0"),
        ("topk", {"warmup": -1}, ValueError, "expected 0 steps or more, got warmup=-1"),
        (compress.TopK(), {"keep": 0.1}, TypeError, "expected options with a scheme's name alone"),
    ],
)
def test_wrong_settings_are_reported(scheme, options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compress.hook(scheme, **options)
    with pytest.raises(error, match=message):
        compress.SimulatedWorkers(scheme, workers=2, **options)


def test_a_share_that_leaves_its_range_is_reported_in_its_step() -> None:
    run = compress.SimulatedWorkers("topk", workers=1, keep=lambda step: 1.0 - step)
    run.step([[torch.ones(4)]])
    with pytest.raises(ValueError, match=r"got 0\.0 in step 1"):
        run.step([[torch.ones(4)]])


def test_wrong_numbers_of_workers_are_reported() -> None:
    with pytest.raises(ValueError, match="expected 1 worker or more, got 0"):
        Simulated(0)
    run = compress.SimulatedWorkers("topk", workers=2)
    with pytest.raises(ValueError, match=r"expected gradients of 2 workers .* lengths \[1\]"):
        run.step([[torch.ones(3)]])
    with pytest.raises(ValueError, match=r"for the same parameters, got lists of lengths \[1, 2\]"):
        run.step([[torch.ones(3)], [torch.ones(3), torch.ones(3)]])


def test_a_state_of_another_run_is_reported() -> None:
    run = compress.SimulatedWorkers("topk", workers=2)
    run.step([[torch.ones(3)], [torch.ones(3)]])
    state = run.state.state_dict()
    with pytest.raises(ValueError, match="expected a state of the scheme 'fft', got one of 'topk'"):
        compress.SimulatedWorkers("fft", workers=2).state.load_state_dict(state)
    run.state.load_state_dict(state)
    with pytest.raises(ValueError, match="expected 3 numbers in parameter 0, got 4: the state is that of another"):
        run.step([[torch.ones(4)], [torch.ones(4)]])
    one = compress.SimulatedWorkers("topk", workers=1)
    one.state.load_state_dict(state)
    with pytest.raises(ValueError, match="expected 2 workers in this process, as in the state, got 1"):
        one.step([[torch.ones(3)]])


@pytest.mark.parametrize("options", [{"smoothness": 0}, {"smoothness": 1, "most": 1}])
def test_a_wrong_schedule_is_reported(options: dict) -> None:
    with pytest.raises(ValueError, match=r"expected (smoothness above 0|most in)"):
        compress.shrinking_theta(lambda step: 0.1, **options)
    with pytest.raises(ValueError, match="expected a learning rate of 0 or more, got -1 in step 7"):
        compress.shrinking_theta(lambda step: -1, smoothness=1)(7)


def test_gradients_of_another_dtype_are_reported() -> None:
    run = compress.SimulatedWorkers("topk", workers=2)
    with pytest.raises(TypeError, match=r"expected gradients in float32, got torch.float16: convert them"):
        run.step([[torch.ones(3)], [torch.ones(3, dtype=torch.float16)]])
