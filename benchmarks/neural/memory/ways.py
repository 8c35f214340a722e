"""Ways to run a training step with less memory, for `gpu.py`: a context and a callable each.

Needs torch.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from lamcts.neural import memory
from lamcts.neural.memory import Plan, Simulator
from lamcts.neural.trace import Trace

DEAR = ("convolution", "mm", "addmm", "bmm")  # operations whose results selective checkpointing keeps, and attention
BUDGETS = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.0)  # of the partitioner's saved bytes
SHARES = (0.8, 0.6, 0.4, 0.2)  # budgets of our plans, relative to the peak of keeping everything
PRESETS = ("liveness", "offload", "cost-aware")
Run = Callable[[Tensor], Any]


def ways() -> list[str]:
    """Return the names of all ways: "eager", the checkpointings, "compiled B" by budget, "ours ..." by plan."""
    compiled = [f"compiled {budget}" for budget in BUDGETS]
    ours = [f"ours {plan}" for plan in (*PRESETS, *SHARES)]
    return ["eager", "full checkpointing", "selective checkpointing", *compiled, *ours]


@contextmanager
def entered(way: str, module: nn.Sequential, traced: Trace | None, plan: Plan | None) -> Iterator[Run]:
    """Yield the callable to use instead of `module`. traced, plan: for ours only."""
    if way == "eager":
        yield module
    elif way.endswith("checkpointing"):
        yield functools.partial(checkpointed, module, way.startswith("selective"))
    elif way.startswith("compiled"):
        with compiled(module, float(way.split()[1])) as run:
            yield run
    else:
        if traced is None or plan is None:
            raise ValueError(f"{way}: expected a trace and a plan, got none")
        with memory.apply(module, plan, traced):
            yield module


def checkpointed(module: nn.Sequential, selective: bool, batch: Tensor) -> Any:
    """Run each child of a module in its own checkpoint."""
    context = {"context_fn": functools.partial(create_selective_checkpoint_contexts, kept)} if selective else {}
    for child in module:
        batch = checkpoint(child, batch, use_reentrant=False, **context)
    return batch


def kept(context: Any, func: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    """Keep the results of expensive operations."""
    op = func._overloadpacket.__name__ if hasattr(func, "_overloadpacket") else str(func)
    dear = op in DEAR or "attention" in op
    return CheckpointPolicy.MUST_SAVE if dear else CheckpointPolicy.PREFER_RECOMPUTE


@contextmanager
def compiled(module: nn.Module, budget: float) -> Iterator[Run]:
    """Yield a compiled module with a budget of saved bytes: inductor on CUDA, plain graphs elsewhere."""
    import torch._dynamo
    import torch._functorch.config as config

    cuda = next(module.parameters()).is_cuda
    torch._dynamo.reset()
    with config.patch(activation_memory_budget=budget):
        yield torch.compile(module, backend="inductor" if cuda else "aot_eager")
    torch._dynamo.reset()


def planned(way: str, traced: Trace) -> Plan | None:
    """Return the plan of one of our ways; None if none within its share of the peak was found."""
    word = way.removeprefix("ours ")
    simulator = Simulator(traced.graph)
    if word in PRESETS:
        return allowed(simulator, memory.preset(word, traced.graph))
    peak = simulator.cost(memory.keep_all(traced.graph).actions).peak_bytes
    return memory.greedy(traced.graph, int(float(word) * peak))


def allowed(simulator: Simulator, plan: Plan) -> Plan:
    """Return the plan; storages that cannot be recomputed are kept."""
    keep = memory.Action.KEEP
    pairs = zip(plan.actions, simulator.tables.recomputable, strict=True)
    actions = (keep if one.word.startswith("recompute") and not free else one for one, free in pairs)
    return Plan(tuple(actions), plan.frees, plan.name)
