"""What compression cost and lost so far."""

from dataclasses import dataclass

HEADERS = 670  # bytes of TCP, IP and gloo a message: benchmarks/results/compress_wire.csv


@dataclass(frozen=True)
class Report:
    """Costs and errors of the steps so far."""

    steps: int
    bits: float  # of payloads that a worker receives, for each number
    wire: float  # an estimate of all bits that it receives, for each number: HEADERS bytes a message more
    seconds: dict[str, float]
    error: float | None
    alpha: float | None
    not_finite: int  # buckets with a nan or an infinity on some worker, which became nan on all

    def __str__(self) -> str:
        times = ", ".join(f"{stage} {seconds:.3g} s" for stage, seconds in self.seconds.items())
        error, alpha = ("-" if one is None else f"{one:.3g}" for one in (self.error, self.alpha))
        return (
            f"{self.steps} steps, {self.bits:.3g} bits of payload a number, about {self.wire:.3g} on the wire; "
            f"{times or 'no time'}; relative error {error}, alpha {alpha}; {self.not_finite} buckets not finite"
        )
