"""What compression cost and lost so far."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Report:
    """Costs and errors of the steps so far.

    Parameters
    ----------
    steps : int
        Number of steps, warm-up included.
    bits : float
        Bits that a worker received for a parameter in a step; a ring all-reduce in float32 takes 64 (W - 1) / W.
    seconds : dict of str to float
        Seconds by stage: "pick" (indices that one worker picks for all), "encode", "send", "decode". On a GPU these are
        times of launches, not of kernels.
    error : float or None
        Mean relative error of what a worker sent, |given - sent| / |given|; None where nothing is computed of it.
    alpha : float or None
        Largest alpha of Assumption 3 (thesis, 7.3.4) in the steps measured: |mean - sent mean| / |mean|.
    not_finite : int
        Buckets with a nan or an infinity on some worker, which became nan on all.
    """

    steps: int
    bits: float
    seconds: dict[str, float]
    error: float | None
    alpha: float | None
    not_finite: int

    def __str__(self) -> str:
        times = ", ".join(f"{stage} {seconds:.3g} s" for stage, seconds in self.seconds.items())
        error, alpha = ("-" if one is None else f"{one:.3g}" for one in (self.error, self.alpha))
        return (
            f"{self.steps} steps, {self.bits:.3g} bits a number; {times or 'no time'}; relative error {error}, "
            f"alpha {alpha}; {self.not_finite} buckets not finite"
        )
