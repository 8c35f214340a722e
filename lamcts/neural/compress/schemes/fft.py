"""FFT sparsification: the largest frequencies of a gradient (thesis, 7.3)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from lamcts.neural.compress.schemes.base import Keep
from lamcts.neural.compress.schemes.top_k import TopK


@dataclass(frozen=True)
class Fft(TopK):
    """Every worker sends the largest frequencies of its gradient (all-gather); their mean is transformed back.

    Parameters
    ----------
    keep : float or callable, default 0.15
        Share of the frequencies to send, in (0, 1], or a function of the step that returns it: 1 - theta.
    values : str, default "range10"
        Format of a real or imaginary part: "fp32", "fp16", or a range float "range2" to "range16".

    Notes
    -----
    The thesis broadcasts the parameters every ten steps, since its workers drift apart. Here all workers decode the
    same bytes in the same order, so their parameters stay equal to the last bit.
    """

    keep: Keep = 0.15
    values: str = "range10"
    name: ClassVar[str] = "fft"
    sparse: ClassVar[bool] = False

    def forward(self, gradient: Tensor) -> Tensor:
        x: Tensor = torch.fft.rfft(gradient, next_fast_len(len(gradient), real=True))
        return x

    def backward(self, x: Tensor, size: int) -> Tensor:
        gradient: Tensor = torch.fft.irfft(x, next_fast_len(size, real=True))
        return gradient[:size]


def shrinking_theta(
    learning_rate: Callable[[int], float], smoothness: float, most: float = 0.5
) -> Callable[[int], float]:
    """Return `keep` by step for which theta^2 = smoothness * learning rate (thesis, Theorem 3).

    Parameters
    ----------
    learning_rate : callable
        The learning rate of a step.
    smoothness : float
        The Lipschitz constant L of the gradient, above 0.
    most : float, default 0.5
        The largest theta, in [0, 1); the proof of Lemma 1 needs theta^2 <= 1/4.
    """
    if not smoothness > 0:
        raise ValueError(f"expected smoothness above 0, got {smoothness}")
    if not 0 <= most < 1:
        raise ValueError(f"expected most in [0, 1), the largest theta, got {most}")

    def keep(step: int) -> float:
        rate = learning_rate(step)
        if not rate >= 0:
            raise ValueError(f"expected a learning rate of 0 or more, got {rate} in step {step}")
        return 1 - min(most, math.sqrt(smoothness * rate))

    return keep
