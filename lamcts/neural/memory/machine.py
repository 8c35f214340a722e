"""Rates of the simulated machine: computing, memory, the link to the host, and the host time of operations."""

from dataclasses import dataclass, fields

from lamcts.neural.graphs import Step

HOST = ("operation_seconds", "recompute_seconds", "follow_seconds", "move_seconds")


@dataclass(frozen=True)
class Machine:
    """Rates of a roofline model: a step takes the longer of computing and moving its bytes, and its host time.

    flops_per_second: operations (10e12; a second); a GPU of the thesis's time, like the next two; untuned.
    memory_bytes_per_second: of the device's memory (700e9; bytes a second); untuned.
    link_bytes_per_second: to the host, each way (12e9; bytes a second); PCI-E with pinned memory; thesis 8.3.3: 8e9.
    overlap: whether transfers run on a separate stream and overlap computing (True); else computing waits.
    workspace_gain: speed-up of a step with its full workspace (1.0; ratio); 1 uses none; untuned.
    capacity_bytes: capacity of the device, whose free part serves as workspace (0; bytes); 0 gives none.
    operation_seconds: host time of each operation (0.0; seconds). `measured_machine` measures the host times.
    recompute_seconds: additional host time of each recomputed operation (0.0; seconds).
    follow_seconds: additional host time of each forward operation, up to the last use of a storage that the plan
        recomputes or offloads (0.0; seconds).
    move_seconds: time of each transfer in addition to its bytes (0.0; seconds).
    runs_ahead: whether the host runs ahead of the device, as on CUDA (False). An operation then takes the longer of its
        device time and its host time, else their sum.
    """

    flops_per_second: float = 10e12
    memory_bytes_per_second: float = 700e9
    link_bytes_per_second: float = 12e9
    overlap: bool = True
    workspace_gain: float = 1.0
    capacity_bytes: int = 0
    operation_seconds: float = 0.0
    recompute_seconds: float = 0.0
    follow_seconds: float = 0.0
    move_seconds: float = 0.0
    runs_ahead: bool = False

    def __post_init__(self) -> None:
        for field in fields(self)[:3]:
            if not getattr(self, field.name) > 0:
                raise ValueError(f"{field.name}: expected a rate above 0, got {getattr(self, field.name)!r}")
        if self.workspace_gain < 1 or self.capacity_bytes < 0:
            got = f"{self.workspace_gain!r} and {self.capacity_bytes!r}"
            raise ValueError(f"expected workspace_gain of at least 1 and capacity_bytes of at least 0, got {got}")
        for name in HOST:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: expected at least 0 seconds, got {getattr(self, name)!r}")

    def seconds(self, step: Step, host_seconds: float = 0.0) -> float:
        """Return the time of a step without workspace, in seconds: the measured one if it has one."""
        if step.seconds:
            return step.seconds + host_seconds
        device = max(step.flops / self.flops_per_second, step.moved_bytes / self.memory_bytes_per_second)
        host = self.operation_seconds + host_seconds
        return max(device, host) if self.runs_ahead else device + host

    def transfer_seconds(self, size: int) -> float:
        """Return the time to transfer `size` bytes over the link, in seconds."""
        return size / self.link_bytes_per_second + self.move_seconds
