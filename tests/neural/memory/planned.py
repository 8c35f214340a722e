"""Plans of given actions for any traced module."""

from lamcts.neural.memory import Action, Plan, Simulator
from lamcts.neural.memory.plan import RECOMPUTED


def planned(traced, *actions):
    """Return a plan of `actions` in turn; what cannot be recomputed is kept."""
    free = Simulator(traced.graph).tables.recomputable
    turn = [actions[i % len(actions)] for i in range(len(free))]
    return Plan(
        tuple(one if some or one not in RECOMPUTED else Action.KEEP for one, some in zip(turn, free, strict=True))
    )


def same_gradients(module, other):
    """Return whether the gradients of two modules are equal, bit for bit."""
    pairs = zip(module.parameters(), other.parameters(), strict=True)
    return all(one.grad.equal(two.grad) for one, two in pairs)
