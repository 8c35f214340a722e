"""The hook on two processes returns what simulated workers do, to the last bit."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from lamcts.neural import compress
from tests.neural.compress.ddp_program import BAD_STEP, CASES, STEPS

PROGRAM, ROOT = Path(__file__).with_name("ddp_program.py"), Path(compress.__file__).parents[3]


Ranks = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    """Return a function: what both processes wrote of a case. They start once, which is what takes long."""
    folder = tmp_path_factory.mktemp("ddp")
    command = [sys.executable, "-W", "ignore", str(PROGRAM), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    programs = [
        subprocess.Popen([*command, str(rank)], env=environment, stderr=subprocess.PIPE, text=True) for rank in (0, 1)
    ]
    errors = [one.communicate(timeout=300)[1] for one in programs]
    assert [one.returncode for one in programs] == [0, 0], errors
    written = [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in (0, 1)]
    return lambda case: [one[case] for one in written]


@pytest.fixture
def one_process() -> Iterator[None]:
    """Make this process a group of its own."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def simulated(case: str, ranks: Ranks) -> tuple[compress.SimulatedWorkers, list[list[torch.Tensor | None]]]:
    """Return workers that were given the gradients of the processes, and their means by step."""
    workers = compress.SimulatedWorkers(case.split()[0], workers=2, **CASES[case])
    means = []
    for first, second in zip(*(one["steps"] for one in ranks(case)), strict=True):
        assert first["buckets"] == second["buckets"]
        given = [[one["given"][key].float() for key in range(len(one["given"]))] for one in (first, second)]
        means.append(workers.step(given, first["buckets"]))
    return workers, means


@pytest.mark.dear
@pytest.mark.parametrize("case", CASES)
def test_two_processes_and_two_simulated_workers_differ_by_nothing(case: str, ranks: Ranks) -> None:
    workers, means = simulated(case, ranks)
    assert len(means) == STEPS
    for rank in ranks(case):
        for step, expected in zip(rank["steps"], means, strict=True):
            for key, mean in step["means"].items():
                assert torch.equal(mean.nan_to_num(123), expected[key].to(mean.dtype).nan_to_num(123))
    bits = [rank["report"]["bits"] for rank in ranks(case)]
    assert workers.report().bits == pytest.approx(sum(bits) / 2, rel=1e-12)
    assert {rank["report"]["not_finite"] for rank in ranks(case)} == {workers.report().not_finite}


@pytest.mark.parametrize("case", CASES)
def test_parameters_of_all_processes_stay_equal_without_a_refresh(case: str, ranks: Ranks) -> None:
    """The thesis (7.4) broadcasts parameters every ten steps."""
    for one, other in zip(*(rank["parameters"] for rank in ranks(case)), strict=True):
        assert torch.equal(one, other) and bool(one.isfinite().all())


@pytest.mark.parametrize("case", [case for case in CASES if "measure" not in CASES[case]])
def test_bytes_counted_are_those_of_the_tensors_sent(case: str, ranks: Ranks) -> None:
    """Of two processes each receives as many bytes by a ring all-reduce or an all-gather as it sends."""
    for rank in ranks(case):
        total = sum(size for _, size in rank["messages"])
        numbers = STEPS * sum(one.numel() for one in rank["parameters"])
        assert total > 0 and rank["report"]["bits"] == pytest.approx(8 * total / numbers, rel=1e-12)


def test_measuring_alpha_is_not_counted(ranks: Ranks) -> None:
    for plain, measured in zip(ranks("shared-topk"), ranks("shared-topk alpha"), strict=True):
        assert measured["report"]["bits"] == plain["report"]["bits"]
        assert plain["report"]["alpha"] is None and 0 < measured["report"]["alpha"] < 1
        assert sum(size for _, size in measured["messages"]) > sum(size for _, size in plain["messages"])


def test_buckets_regroup_and_errors_stay_with_their_parameters(ranks: Ranks) -> None:
    layouts = [step["buckets"] for step in ranks("topk")[0]["steps"]]
    assert len(layouts[0]) == 1 and len(layouts[1]) > 1 and layouts[1] == layouts[-1]


@pytest.mark.parametrize("case", [case for case in CASES if case.endswith("nan")])
def test_a_nan_of_one_process_reaches_both(case: str, ranks: Ranks) -> None:
    for rank in ranks(case):
        broken = rank["steps"][BAD_STEP]["means"].values()
        assert all(bool(one.isnan().all()) for one in broken)
        assert rank["report"]["not_finite"] == len(rank["steps"][BAD_STEP]["buckets"])


def trained(steps: int, state: dict[str, Any] | None = None, start: int = 0) -> tuple[list[torch.Tensor], Any]:
    """Return gradients by step of a model in one process, and the state afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3))
    net[2].bias.requires_grad_(False)
    model = DistributedDataParallel(net)
    own, hook = compress.hook("topk", keep=0.1)
    if state:
        own.load_state_dict(state)
    model.register_comm_hook(own, hook)
    gradients = []
    for step in range(start, start + steps):
        model.zero_grad()
        model(torch.randn(8, 10, generator=torch.Generator().manual_seed(step))).square().mean().backward()
        gradients.append(torch.cat([one.grad.reshape(-1) for one in net.parameters() if one.grad is not None]))
    return gradients, own


def test_a_process_alone_compresses_and_receives_nothing(one_process: None) -> None:
    gradients, state = trained(3)
    assert [int(one.count_nonzero()) for one in gradients] == [28] * 3  # of 280; the last bias needs no gradient
    assert state.report().bits == 0 and state.report().steps == 3 and state.step == 3


def test_a_resumed_training_returns_the_same_gradients(one_process: None) -> None:
    straight, _ = trained(6)
    first, state = trained(3)
    second, _ = trained(3, state.state_dict(), start=3)
    assert all(map(torch.equal, straight, [*first, *second]))
    fresh, _ = trained(3, start=3)
    assert not torch.equal(fresh[0], second[0])


def bucket(flat: torch.Tensor) -> Any:
    """Return what a hook reads of a bucket."""
    parameter = torch.zeros(flat.shape)
    return SimpleNamespace(buffer=lambda: flat, parameters=lambda: [parameter], is_last=lambda: False)


@pytest.mark.parametrize(
    ("flat", "error", "message"),
    [
        (torch.zeros(4, dtype=torch.float16), TypeError, r"of one dtype, got torch.float32 and torch.float16: convert"),
        (torch.zeros(4, device="meta"), ValueError, "on one device, got cpu and meta: use one device a process"),
        (torch.zeros(4, dtype=torch.float64), TypeError, r"float32, float16 or bfloat16, got torch.strided, .*float64"),
        (torch.zeros(4).to_sparse(), TypeError, r"expected dense gradients .* got torch.sparse_coo"),
    ],
)
def test_gradients_unlike_the_first_are_reported(
    one_process: None, flat: torch.Tensor, error: type[Exception], message: str
) -> None:
    state, hook = compress.hook("topk")
    hook(state, bucket(torch.zeros(4)))
    with pytest.raises(error, match=message):
        hook(state, bucket(flat))


def test_a_model_of_mixed_dtypes_is_reported_by_its_backward_pass(one_process: None) -> None:
    with torch.random.fork_rng():
        net = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Linear(3, 3, dtype=torch.bfloat16)])

    class Mixed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net[1](self.net[0](x).bfloat16())

    model = DistributedDataParallel(Mixed())
    model.register_comm_hook(*compress.hook("topk"))
    with pytest.raises(Exception, match="expected gradients of one dtype, got"):
        model(torch.ones(2, 3)).sum().backward()
