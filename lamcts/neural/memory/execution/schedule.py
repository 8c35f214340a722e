"""The schedule of a plan for a traced step: computed once, followed at every step. Needs torch."""

from dataclasses import dataclass, field

from torch import Tensor
from torch.utils._pytree import tree_leaves

from lamcts.neural.memory.execution.recipe import address_of
from lamcts.neural.memory.forward import forward
from lamcts.neural.memory.plan import Action, Plan
from lamcts.neural.memory.simulator import Simulator
from lamcts.neural.trace import Trace
from lamcts.neural.trace.recorder import Args, Kwargs, Op, predicted_bytes

AGAIN = (
    "trace the model again, with this batch, this loss and in this mode (train, eval, autocast); no plan follows a "
    "model whose operations change from step to step, such as by Python's or NumPy's random numbers"
)


@dataclass(frozen=True, eq=False)
class PlanSchedule:
    """Actions and transfers of a plan."""

    traced: Trace
    actions: dict[int, Action]  # of each movable storage that the backward pass needs
    writes: dict[int, int]  # number of steps that write these storages
    leaving: frozenset[int]  # storages that are not on the device after the forward pass
    fetched: list[int]  # prefetched storages in order of need
    staying: frozenset[int]  # prefetched storages that are too short-lived to offload
    held_bytes: int  # resident bytes that autograd saved or a recomputation reads
    sizes: dict[int, int] = field(default_factory=dict)  # of storages that the first step found other than the trace

    def is_size(self, number: int, tensor: Tensor, call: tuple[Op, Args, Kwargs, object] | None = None) -> bool:
        """Return whether a tensor has the bytes of a storage, and learn them where the trace does not know them."""
        storage, got = self.traced.graph.storages[number], tensor.untyped_storage().nbytes()
        known = storage.bytes in (0, got) or self.sizes.get(number) == got
        if not known and (call is None or _predicted(tensor, *call) != storage.bytes):
            return False
        if storage.bytes != got and storage.role != "outside":  # such as a workspace
            self.sizes[number] = got
        return True

    @property
    def moved(self) -> frozenset[int]:
        """Storages that are not kept."""
        return self.leaving | self.staying


def schedule(traced: Trace, plan: Plan) -> PlanSchedule:
    """Return the schedule of a plan; raise ValueError if the plan does not fit the trace."""
    graph, simulator = traced.graph, Simulator(traced.graph)
    simulator.report(plan)
    start = forward(simulator.tables, plan.actions)
    first, last, resident = start.first, start.last, start.resident
    wanted = [i for i in range(len(graph.movable)) if last[i] >= 0]
    actions = {graph.movable[i]: Action.KEEP if resident[i] else plan.actions[i] for i in wanted}
    leaving = frozenset(one for one, action in actions.items() if action != Action.KEEP)
    fetched = [i for i in wanted if plan.actions[i] == Action.OFFLOAD]
    staying = frozenset(graph.movable[i] for i in fetched if resident[i])
    fetched.sort(key=lambda i: (first[i], -i))
    held = (set(actions) | set(traced.packed)) - leaving
    writes = {one: len(graph.makers[one]) for one in actions}
    size = sum(graph.storages[one].bytes for one in held)
    return PlanSchedule(traced, actions, writes, leaving, [graph.movable[i] for i in fetched], staying, size)


def _predicted(tensor: Tensor, func: Op, args: Args, kwargs: Kwargs, result: object) -> int | None:
    """Return the bytes that a trace has for a result of an operation; None for an argument that it modifies."""
    lies = [isinstance(one, Tensor) and address_of(one) == address_of(tensor) for one in tree_leaves(result)]
    return predicted_bytes(func, args, kwargs)[lies.index(True)] if True in lies else None
