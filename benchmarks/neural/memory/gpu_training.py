"""Training loops, leaks and limits of a network under a memory plan: the part "training" of `gpu.py`. Needs torch."""

import time
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness.task import Row
from benchmarks.neural.memory.gpu_networks import Case, case, copied, difference, difference_row, on_host
from lamcts.neural import memory

NAME = "gpt-bf16"  # the network of these checks
SHARE, SMALL_SHARE = 0.5, 0.75  # of the activations that the plan may hold; a small network has no smaller plan
LOOPS: dict[str, dict[str, Any]] = {
    "3 steps of SGD": {},
    "3 steps of SGD, accumulation of 3": {"accumulated": 3},
    "3 steps of SGD, GradScaler": {"scaled": True},
}
WARM, STEPS = 3, 20
LEAK_BYTES = 2**20
ROOM = 1.25  # of the budget, for the process
SIDE = 8192  # of the matrices whose product is timed
PRODUCTS = 5


class Training:
    """One network under one plan in training loops; rows: the checks by name."""

    def __init__(self, small: bool, batch: int, device: torch.device) -> None:
        self.small, self.batch, self.device = small, batch, device
        self.rows = {name: lambda settings=settings: self.loop(**settings) for name, settings in LOOPS.items()}
        if device.type == "cuda":
            self.rows |= {"side stream": self.side_stream, "20 steps, growth": self.growth}
            self.rows["process limited to 1.25 budgets"] = self.limited

    @cached_property
    def case(self) -> Case:
        return case(NAME, self.small, self.batch, self.device)

    @cached_property
    def fitted(self) -> memory.Fitted:
        eager = self.case.measured(self.case.module)
        static, peak = eager["static_bytes"], eager["peak_bytes"]
        share = SMALL_SHARE if self.small else SHARE
        return self.case.fitted(int(static + share * (peak - static)))

    def loop(self, **settings: Any) -> Row:
        """Compare training under the plan with eager training, which is repeated."""
        expected = self.trained(nullcontext(), **settings)
        error = difference(self.trained(self.fitted, **settings), expected)
        noise = difference(self.trained(nullcontext(), **settings), expected)
        return difference_row(error, noise) | {"eager_error": f"{noise:.2g}"}

    def side_stream(self) -> Row:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        return self.loop(stream=stream)

    def trained(
        self,
        context: AbstractContextManager[Any],
        *,
        scaled: bool = False,
        accumulated: int = 1,
        stream: Any = None,
        steps: int = 3,
    ) -> list[Tensor]:
        """Return the losses and the last parameters of a training from one seed; parameters are restored."""
        module = self.case.module
        torch.manual_seed(7)
        state = {name: one.clone() for name, one in module.state_dict().items()}
        optimizer = torch.optim.SGD(module.parameters(), 1e-2)
        scaler = torch.amp.GradScaler(self.device.type, enabled=scaled)
        losses: list[Tensor] = []
        with torch.cuda.stream(stream) if stream is not None else nullcontext(), context:
            for _ in range(steps):
                optimizer.zero_grad()
                for _ in range(accumulated):
                    with self.case.autocast():
                        loss = self.case.loss(module(self.case.examples))
                    scaler.scale(loss / accumulated).backward()
                scaler.step(optimizer)
                scaler.update()
                losses += copied([loss])
        self.case.synchronize()
        found = on_host(losses + copied(module.parameters()))
        module.load_state_dict(state)
        return found

    def growth(self) -> Row:
        """Return how much memory of device and host is allocated after some more steps."""
        with self.fitted:
            self._steps(WARM)
            device_before, pinned_before = torch.cuda.memory_allocated(), pinned_bytes()
            self._steps(STEPS)
            device, pinned = torch.cuda.memory_allocated() - device_before, pinned_bytes() - pinned_before
        failed = {"status": f"failed: {device} bytes leak"} if abs(device) >= LEAK_BYTES else {}
        return failed | {"details": f"{device} bytes of the device, {pinned} pinned"}

    def limited(self) -> Row:
        """Run steps in a process whose memory is limited, so that fetches run out of memory and are retried."""
        whole = torch.cuda.get_device_properties(0).total_memory
        share = ROOM * self.fitted.budget_bytes / whole
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(min(share, 1.0))
        try:
            with self.fitted:
                self._steps(WARM)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        return {"budget_bytes": self.fitted.budget_bytes}

    def _steps(self, count: int) -> None:
        for _ in range(count):
            self.case.step(self.case.module)
        self.case.synchronize()


def pinned_bytes() -> int:
    """Return the pinned bytes of the host, 0 for a torch that does not count them."""
    statistics = getattr(torch.cuda, "host_memory_stats", dict)
    return int(statistics().get("allocated_bytes.current", 0))


def rates(device: torch.device) -> Row:
    """Return the rates of products by dtype next to the one rate of the machine model."""
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        matrix = torch.randn(SIDE, SIDE, device=device, dtype=dtype)
        matrix @ matrix
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(PRODUCTS):
            matrix @ matrix
        torch.cuda.synchronize()
        seconds = time.perf_counter() - began
        found.append(f"{dtype} {PRODUCTS * 2 * SIDE**3 / seconds / 1e12:.0f}")
    model = f"{memory.measured_machine(device).flops_per_second / 1e12:.0f}"
    return {"details": f"TFLOP/s: {', '.join(found)}, machine model {model} for every dtype"}


def data_parallel(batch: int, small: bool, device: torch.device) -> Row:
    """Run a step of `nn.DataParallel` on all devices, inside the context of a fit."""
    made = case("resnet", small, batch, device)
    fitted = memory.fit(made.module, made.examples[: batch // 2], "1000GiB", loss=lambda out: out.float().sum())
    with fitted:
        nn.DataParallel(made.module)(made.examples).sum().backward()
    return {}
