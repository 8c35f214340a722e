"""Two processes that train with every hook, and write what went in and what came out."""

import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from lamcts.neural import compress

STEPS, BAD_STEP = 6, 2
CASES = {
    "none": {},
    "topk": {"keep": 0.05, "values": "range8"},
    "topk fp32": {"keep": 0.05, "values": "fp32", "warmup": 2},
    "topk momentum": {"keep": 0.05, "values": "fp16", "momentum": 0.9},
    "topk nan": {"keep": 0.05},
    "topk bf16": {"keep": 0.05},
    "shared-topk": {"keep": 0.1, "measure": 2},
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


def network() -> torch.nn.Module:
    """Return a network whose parameters fill several buckets."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(20, 40), torch.nn.Tanh(), torch.nn.Linear(40, 30), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(30, 5))


def run(case: str, rank: int) -> dict:
    """Train for some steps; return gradients, means and bytes by step."""
    dtype = torch.bfloat16 if case.endswith("bf16") else torch.float32
    model = DistributedDataParallel(network().to(dtype), bucket_cap_mb=0.004)
    state, hook = compress.hook(case.split()[0], **CASES[case])
    order, steps, bytes_sent = [], [], []

    def recorded(state, bucket):
        parameters = bucket.parameters()
        order.extend(one for one in parameters if not any(one is other for other in order))
        keys = [next(i for i, other in enumerate(order) if one is other) for one in parameters]
        given = [one.clone() for one in bucket.gradients()]
        future = hook(state, bucket)
        means = torch.split(future.value(), [one.numel() for one in given])
        steps[-1]["buckets"].append(keys)
        steps[-1]["given"].update(zip(keys, given))
        steps[-1]["means"].update(zip(keys, (m.view_as(g).clone() for m, g in zip(means, given))))
        return future

    model.register_comm_hook(state, recorded)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for step in range(STEPS):
        steps.append({"buckets": [], "given": {}, "means": {}})
        before = [one.detach().clone() for one in model.parameters()]
        optimizer.zero_grad()
        x = torch.randn(16, 20, generator=generator).to(dtype)
        if case.endswith("nan") and step == BAD_STEP and rank == 1:
            x[0, 0] = torch.nan
        model(x).square().mean().backward()
        if case.endswith("nan") and step == BAD_STEP:
            continue  # as a GradScaler does
        optimizer.step()
        assert before
        bytes_sent.append(state.report().bits)
    return {
        "steps": steps,
        "parameters": [one.detach().clone() for one in order],
        "report": state.report().__dict__,
        "state": state.state_dict(),
    }


def main(folder: str, rank: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.save({case: run(case, rank) for case in CASES}, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
