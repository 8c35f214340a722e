"""What PyTorch's users have today, as plans of ours: activation checkpointing, and the partitioner's budget.

simulator.report(checkpointing(traced.graph))
for swept in budget_sweep(model, batch, traced.graph):
    print(simulator.report(swept.plan), swept.saved_bytes)
"""

from lamcts.neural.memory.rivals.checkpoints import (
    RIVALS,
    Block,
    blocks,
    checkpointing,
    economical,
    segmented,
    selective,
)
from lamcts.neural.memory.rivals.sweep import BUDGETS, Swept, budget_sweep

__all__ = [
    "BUDGETS",
    "RIVALS",
    "Block",
    "Swept",
    "blocks",
    "budget_sweep",
    "checkpointing",
    "economical",
    "segmented",
    "selective",
]
