"""Is a traced training step the one that torch runs, and does a plan cost what is simulated? On the CPU.

    python -m benchmarks.neural.memory.traced [--networks alexnet resnet50 ...] [--plans keep cost-aware random]

Networks as published, one thread. Rows by `what`:
- "saved": bytes that autograd holds after the forward pass, traced, and counted by hooks; seconds of a trace.
- "saved, backward" and "live": saved and live bytes by step, traced and counted: the peaks, the number of equal steps,
  and the largest difference in bytes.
- "PLAN held" and "PLAN peak": under a plan, bytes held for the backward pass, and the peak, simulated and counted;
  whether gradients and buffers after two accumulated micro-batches equal those of eager steps bit for bit; CPU seconds
  of such a step, and of an eager one.

Rows go to results/memory_traced.csv.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from benchmarks.neural.memory.alive import Lives, counted_step, left_out
from benchmarks.neural.memory.networks import FULL, SMALL
from lamcts.neural import memory
from lamcts.neural.graphs import StepGraph, liveness
from lamcts.neural.memory import Action, Plan, Simulator
from lamcts.neural.memory.plan import RECOMPUTED
from lamcts.neural.trace import Trace, saved_bytes, trace

BATCHES = {"alexnet": 4, "resnet50": 4, "inception": 4, "densenet121": 4, "transformer12": 1}  # these fit 6 GiB
PLANS = ("keep", "cost-aware", "random")
KEY = ("network", "batch", "what")
COLUMNS = (
    *KEY,
    "steps",
    "storages",
    "predicted_bytes",
    "counted_bytes",
    "same_steps",
    "apart_bytes",
    "same_gradients",
    "seconds",
    "eager_seconds",
    "versions",
)
MICRO_BATCHES = 2


def main() -> None:
    given = script.parser(__doc__, "memory_traced.csv", "two small networks, one plan")
    given.add_argument("--networks", nargs="*", default=list(BATCHES), choices=[*FULL, *SMALL])
    given.add_argument("--plans", nargs="*", default=list(PLANS), choices=PLANS)
    arguments = script.parsed(given, networks=["alexnet", "transformer"], plans=["random"])
    torch.set_num_threads(1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name in arguments.networks:
        torch.manual_seed(0)
        small = arguments.smoke or name not in FULL
        module, batch = SMALL[name]() if small else FULL[name](BATCHES[name])
        batch = torch.randn_like(batch) if batch.is_floating_point() else batch
        for row in rows(sheet, (name, len(batch)), module, batch, arguments.plans):
            sheet.append(row | {"versions": versions(("lamcts", "torch"))})
            script.tell(sheet, row)


def rows(sheet: Sheet, of: tuple[str, int], module: nn.Module, batch: Tensor, plans: list[str]) -> Iterator[Row]:
    """Yield the missing rows."""
    began = time.process_time()
    traced = trace(module, batch)
    seconds = time.process_time() - began
    label = {"network": of[0], "batch": of[1], "steps": len(traced.graph.steps), "storages": len(traced.graph.storages)}
    if sheet.missing([(*of, "saved")]):
        sizes = {"predicted_bytes": traced.saved_bytes, "counted_bytes": saved_bytes(module, batch)}
        yield {**label, "what": "saved", **sizes, "seconds": f"{seconds:.2f}"}
    if sheet.missing([(*of, "saved, backward"), (*of, "live")]):
        for what, row in curves(module, batch, traced):
            yield {**label, "what": what, **row}
    missing = [plan for plan in plans if sheet.missing([(*of, f"{plan} held")])]
    eager = stepped(module, batch) if missing else None
    for plan in missing:
        for what, row in carried_out(module, batch, traced, plan, eager):
            yield {**label, "what": f"{plan} {what}", **row}


def curves(module: nn.Module, batch: Tensor, traced: Trace) -> Iterator[tuple[str, Row]]:
    """Yield the comparison of real and traced curves."""
    graph, counted = traced.graph, counted_step(module, batch)
    if [step.writes for step in graph.steps] != [step.writes for step in counted.steps]:
        raise RuntimeError("expected the traced steps, got others")
    live, kept = liveness(graph), set(traced.packed)
    begin, steps = graph.forward_count, range(len(graph.steps))
    saved = [sized(graph, kept & live.during(t)) for t in steps][begin:]
    yield "saved, backward", compared(saved, [sized(graph, one) for one in counted.saved][begin:])
    yield "live", compared(live.live_bytes.tolist(), [sized(graph, one) for one in counted.alive])


def sized(graph: StepGraph, storages: Any) -> int:
    return sum(graph.storages[one].bytes for one in storages)


def compared(predicted: list[int], counted: list[int]) -> Row:
    apart = np.abs(np.array(predicted) - np.array(counted))
    same = {"steps": len(apart), "same_steps": int((apart == 0).sum()), "apart_bytes": int(apart.max())}
    return {"predicted_bytes": max(predicted), "counted_bytes": max(counted), **same}


def carried_out(module: nn.Module, batch: Tensor, traced: Trace, name: str, eager: Any) -> Iterator[tuple[str, Row]]:
    """Yield held bytes and peak of a plan, whether results are equal bit for bit, and its time."""
    plan = plan_of(traced.graph, name)
    predicted = Simulator(traced.graph).cost(plan.actions).peak_bytes
    before = {name: one.clone() for name, one in module.named_buffers()}
    module.zero_grad()
    with Lives() as lives, memory.apply(module, plan, traced) as executor:
        lives.see([*module.parameters(), *module.buffers(), batch])
        send = executor.link.send
        executor.link.send = lambda storage: left_out(lives, send, storage)  # type: ignore[method-assign]
        total(module(batch)).backward()
        gradients = [one.grad for one in module.parameters() if one.grad is not None]
        peak = lives.peak([*module.parameters(), *module.buffers(), batch, *gradients])
    del gradients
    for name, one in module.named_buffers():
        one.copy_(before[name])
    found, seconds = stepped(module, batch, plan, traced)
    same = found == eager[0]
    times = {"seconds": f"{seconds:.2f}", "eager_seconds": f"{eager[1]:.2f}"}
    held = {"predicted_bytes": executor.schedule.held_bytes, "counted_bytes": executor.held_bytes}
    yield "peak", {"predicted_bytes": predicted, "counted_bytes": peak}
    yield "held", {**held, "same_gradients": same, **times}


def plan_of(graph: StepGraph, name: str) -> Plan:
    """Return a plan by name; storages that cannot be recomputed are kept."""
    rng, kept = np.random.default_rng(0), memory.keep_all(graph)
    drawn = Plan(tuple(map(Action, rng.integers(len(Action), size=len(graph.movable)).tolist())))
    plan = {"keep": kept, "random": drawn}.get(name) or memory.preset(name, graph)
    pairs = zip(plan.actions, Simulator(graph).tables.recomputable, strict=True)
    return Plan(tuple(one if free or one not in RECOMPUTED else Action.KEEP for one, free in pairs), name=name)


def stepped(
    module: nn.Module, batch: Tensor, plan: Plan | None = None, traced: Trace | None = None
) -> tuple[str, float]:
    """Return a hash of gradients and buffers after micro-batches, and the CPU seconds of one; restore buffers."""
    before = {name: one.clone() for name, one in module.named_buffers()}
    module.zero_grad()
    torch.manual_seed(1)
    with nullcontext() if plan is None or traced is None else memory.apply(module, plan, traced):
        began = time.process_time()
        for _ in range(MICRO_BATCHES):
            total(module(batch)).backward()
        seconds = (time.process_time() - began) / MICRO_BATCHES
    found = hashlib.sha256()
    for tensor in (*(one.grad for one in module.parameters() if one.grad is not None), *module.buffers()):
        found.update(tensor.contiguous().numpy())
    for name, one in module.named_buffers():
        one.copy_(before[name])
    module.zero_grad()
    return found.hexdigest(), seconds


def total(output: Tensor) -> Tensor:
    return output.sum()


if __name__ == "__main__":
    main()
