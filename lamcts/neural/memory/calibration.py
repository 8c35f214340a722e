"""Measure the rates of a device and the host time of operations and plans, for `Machine`. Needs torch."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.memory.execution.apply import apply
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.plan import Action, Plan, keep_all
from lamcts.neural.memory.simulator import Simulator
from lamcts.neural.trace import trace

BLOCKS, WIDTH, ROWS = 6, 8, 4  # of the small network: a step takes milliseconds (untuned)
WARM, REPEATS = 2, 9  # steps before the timed ones, whose least time counts
SIDE = {"cpu": 256, "cuda": 4096}  # of the square matrices that are multiplied
FLOATS = {"cpu": 2**20, "cuda": 2**25}  # elements of the tensors that are moved
COLUMNS = 256  # elements that a normalisation or a softmax reduces
DIGITS = 2  # significant digits of a measured number


class HostTimes(NamedTuple):
    """Seconds of an operation; and additional ones of a recomputed, a followed and a moved one, see `Machine`."""

    operation: float
    recompute: float
    follow: float
    move: float


def measured_machine(device: torch.device | str = "cpu") -> Machine:
    """Measure the rates of a device, and the host time of operations and plans, in about a second.

    The result is kept: a second call in one process, with the same number of threads, returns the same machine.

    Parameters
    ----------
    device : torch.device or str, default "cpu"
        The device.

    Returns
    -------
    Machine
        Rates with two significant digits. Other processes may measure other ones.

    Notes
    -----
    `flops_per_second` is that of a matrix product, `memory_bytes_per_second` the median of five common operations,
    `link_bytes_per_second` that of one copy from the host. Host times are differences of the least times of a training
    step: a network of 18 small layers under plans that keep everything, that recompute one storage and half of all,
    and that offload half. On CUDA the host runs ahead of the device (`runs_ahead`).

    Examples
    --------
    >>> from lamcts.neural import memory
    >>> machine = memory.measured_machine()
    >>> machine.recompute_seconds < 1  # of one operation; 0.0001 on the machine of the benchmarks
    True
    """
    found = torch.device(device)
    return _measured(found.type, found.index, torch.get_num_threads())


@cache
def _measured(kind: str, index: int | None, threads: int) -> Machine:
    """Measure a device once in a process for each number of threads."""
    device, cuda = torch.device(kind if index is None else f"{kind}:{index}"), kind == "cuda"
    with torch.random.fork_rng([device] if cuda else []), torch.enable_grad(), torch.autocast(kind, enabled=False):
        found = flops_rate(device), memory_rate(device), link_rate(device), *host_times(device)
    flops, memory, link, operation, recompute, follow, move = (float(f"{one:.{DIGITS}g}") for one in found)
    return Machine(
        flops,
        memory,
        link,
        operation_seconds=operation,
        recompute_seconds=recompute,
        follow_seconds=follow,
        move_seconds=move,
        runs_ahead=cuda,
    )


def host_times(device: torch.device) -> HostTimes:
    """Return the host times of a small network: of plans that recompute and move nothing, one and many storages."""
    network = _Network(device)
    last, many = network.needed[-1:], network.needed[::2] + network.needed[-1:]
    steps, forward = len(network.graph.steps), network.graph.forward_count
    eager = network.seconds([], Action.KEEP)
    one = network.seconds(last, Action.RECOMPUTE)
    more = network.makers(many) - network.makers(last)
    recomputed = (network.seconds(many, Action.RECOMPUTE) - one) / more
    followed = one - network.makers(last) * recomputed  # a step whose operations are followed, and no more
    moved = (network.seconds(many, Action.OFFLOAD_AGAIN) - followed) / (2 * len(many))
    found = eager / steps, recomputed - eager / steps, (followed - eager) / forward, moved
    return HostTimes(*(max(value, 0.0) for value in found))


class _Network:
    """A network of small operations. needed: storages that can be recomputed, by their last use."""

    def __init__(self, device: torch.device) -> None:
        layers = [layer for _ in range(BLOCKS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.LayerNorm(WIDTH))]
        self.model = nn.Sequential(*layers).to(device, torch.float32)
        self.batch = torch.zeros(ROWS, WIDTH, dtype=torch.float32, device=device)
        self.traced = trace(self.model, self.batch)
        self.graph = self.traced.graph
        simulator, keep = Simulator(self.graph), keep_all(self.graph)
        rows = zip(simulator.last_needs(keep.actions), simulator.tables.recomputable, strict=True)
        needed = [i for i, (need, free) in enumerate(rows) if need >= 0 and free]
        self.needed = sorted(needed, key=simulator.tables.last_forward_use.__getitem__)

    def makers(self, some: Sequence[int]) -> int:
        """Return the operations that a recomputation of some storages runs."""
        return sum(len(self.graph.makers[self.graph.movable[i]]) for i in some)

    def seconds(self, some: Sequence[int], action: Action) -> float:
        """Return the least seconds of a step in which some storages have an action."""
        actions = tuple(action if i in some else Action.KEEP for i in range(len(self.graph.movable)))
        with apply(self.model, Plan(actions), self.traced):
            return _least_seconds(self._step, self.batch.device)

    def _step(self) -> None:
        self.model.zero_grad()
        self.model(self.batch).sum().backward()


def flops_rate(device: torch.device) -> float:
    """Return the operations a second of a matrix product."""
    side = SIDE.get(device.type, SIDE["cpu"])
    matrix = torch.ones(side, side, dtype=torch.float32, device=device)
    return 2 * side**3 / _least_seconds(lambda: matrix @ matrix, device)


def memory_rate(device: torch.device) -> float:
    """Return the bytes a second, read and written, of the middle one of five common operations."""
    flat = torch.ones(FLOATS.get(device.type, FLOATS["cpu"]) // COLUMNS, COLUMNS, dtype=torch.float32, device=device)
    common: list[Callable[[Tensor], Tensor]] = [
        functional.relu,
        functional.gelu,
        torch.neg,
        lambda one: functional.layer_norm(one, one.shape[1:]),
        lambda one: functional.softmax(one, 1),
    ]
    return 2 * flat.nbytes / median(_least_seconds(lambda one=one: one(flat), device) for one in common)  # type: ignore[misc]


def link_rate(device: torch.device) -> float:
    """Return the bytes a second of a copy from the host."""
    pinned = device.type == "cuda"
    host = torch.ones(FLOATS.get(device.type, FLOATS["cpu"]), dtype=torch.float32, pin_memory=pinned)
    there = torch.empty_like(host, device=device)
    return host.nbytes / _least_seconds(lambda: there.copy_(host, non_blocking=pinned), device)


def _least_seconds(run: Callable[[], object], device: torch.device) -> float:
    """Return the least seconds of a call after some that warm up."""
    took = []
    for _ in range(WARM + REPEATS):
        _wait(device)
        began = time.perf_counter()
        run()
        _wait(device)
        took.append(time.perf_counter() - began)
    return min(took[WARM:])


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
