"""A process of two that train with every hook; it writes what went into the hooks and what came out.

python ddp_program.py FOLDER RANK
"""

import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["GLOO_SOCKET_IFNAME"] = "lo"  # on this machine alone

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from lamcts.neural import compress

STEPS, BAD_STEP = 6, 2
CASES: dict[str, dict[str, Any]] = {
    "none": {},
    "topk": {"keep": 0.05, "values": "range8"},
    "topk fp32": {"keep": 0.05, "values": "fp32", "warmup": 2},
    "topk momentum": {"keep": 0.05, "values": "fp16", "momentum": 0.9},
    "topk nan": {"keep": 0.05},
    "topk bfloat16": {"keep": 0.05},
    "topk unused": {"keep": 0.05},
    "shared-topk": {"keep": 0.1},
    "shared-topk alpha": {"keep": 0.1, "measure": 2},
    "shared-topk nan": {"keep": 0.1},
    "shared-topk fp32": {"keep": 0.1, "values": "fp32", "momentum": 0.5, "warmup": 1},
    "fft": {"keep": 0.15},
    "fft thesis": {"keep": 0.5, "values": "range8", "feedback": False},
    "fft nan": {"keep": 0.5},
    "qsgd": {"bits": 4},
    "qsgd nan": {"bits": 8},
    "terngrad": {},
    "powersgd": {"rank": 2},
    "powersgd nan": {"rank": 1},
}


class Network(torch.nn.Module):
    """A network whose parameters fill several buckets; the last layer may be left out."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        layers = [torch.nn.Linear(20, 40), torch.nn.Tanh(), torch.nn.Linear(40, 30), torch.nn.Tanh()]
        self.body, self.last = torch.nn.Sequential(*layers, torch.nn.Linear(30, 5)), torch.nn.Linear(5, 5)

    def forward(self, x: Tensor, last: bool = True) -> Tensor:
        return self.last(self.body(x)) if last else self.body(x)


class Recorder:
    """A hook around a hook: gradients in, means out, messages between."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook, self.order, self.steps = hook, list[Tensor](), list[dict[str, Any]]()

    def reduce(self, state, bucket):
        """Call the hook; no annotations, since DistributedDataParallel accepts few."""
        parameters, step = bucket.parameters(), self.steps[-1]
        self.order += [one for one in parameters if not any(one is other for other in self.order)]
        keys = [next(i for i, other in enumerate(self.order) if one is other) for one in parameters]
        given = [one.clone() for one in bucket.gradients()]
        future = self.hook(state, bucket)
        means = torch.split(future.value().clone(), [one.numel() for one in given])
        step["buckets"].append(keys)
        step["given"].update(zip(keys, given, strict=True))
        step["means"].update((key, mean.view_as(like)) for key, mean, like in zip(keys, means, given, strict=True))
        return future


def count_messages(messages: list[tuple[str, int]]) -> None:
    """Write down the bytes of every tensor that is given to a collective."""
    for name, sent in (("all_reduce", 0), ("all_gather", 1), ("broadcast", 0)):
        call = getattr(dist, name)

        def counted(*given: Any, name: str = name, sent: int = sent, call: Any = call, **options: Any) -> Any:
            root = options.get("group_src")
            if root != dist.get_rank():
                messages.append((name, given[sent].numel() * given[sent].element_size()))
            return call(*given, **options)

        setattr(dist, name, counted)


def run(case: str, rank: int, messages: list[tuple[str, int]]) -> dict[str, Any]:
    """Train for some steps; return what the hook was given and returned."""
    dtype = torch.bfloat16 if case.endswith("bfloat16") else torch.float32
    unused = case.endswith("unused")
    model = DistributedDataParallel(Network().to(dtype), bucket_cap_mb=0.004, find_unused_parameters=unused)
    state, hook = compress.hook(case.split()[0], **CASES[case])
    recorder = Recorder(hook)
    model.register_comm_hook(state, recorder.reduce)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    maker = torch.Generator().manual_seed(rank)
    messages.clear()
    for step in range(STEPS):
        recorder.steps.append({"buckets": [], "given": {}, "means": {}})
        optimizer.zero_grad()
        x = torch.randn(16, 20, generator=maker).to(dtype)
        bad = case.endswith("nan") and step == BAD_STEP
        if bad and rank == 1:
            x[0, 0] = torch.nan
        model(x, last=not unused or (step % 2 == 0 and rank == 0)).square().mean().backward()
        if not bad:  # a GradScaler leaves such a step out, too
            optimizer.step()
    parameters = [one.detach().clone() for one in recorder.order]
    return {"steps": recorder.steps, "parameters": parameters, "report": vars(state.report()), "messages": [*messages]}


def main(folder: str, rank: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    messages: list[tuple[str, int]] = []
    count_messages(messages)
    torch.save({case: run(case, rank, messages) for case in CASES}, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
