"""Proxies of how an untrained network separates examples: NASWOT and the correlation of Jacobians.

Letters: b examples, u units.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from lamcts.neural.proxies.copies import evaluation_copy

SMALL = 1e-5  # added to eigenvalues, as in the code of Mellor et al. 2020
ATEN = torch.ops.aten
RELUS = (ATEN.relu.default, ATEN.relu_.default)
RELU6 = (ATEN.hardtanh.default, ATEN.hardtanh_.default, ATEN.relu6.default, ATEN.relu6_.default)


def naswot(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return log |det K|, K[i, j] the number of ReLUs with equal states for examples i and j (Mellor et al. 2021).

    -inf if K is singular: two examples have equal states everywhere, or there are fewer ReLUs than examples.
    """
    codes = _Codes(len(x))
    with torch.no_grad(), codes:
        evaluation_copy(net)(x)
    if codes.units == 0:
        raise ValueError("naswot: expected a network with ReLUs, got none; take another proxy, such as 'synflow'")
    values = torch.linalg.eigvalsh(codes.kernel)  # of a sum of products of codes, at least 0
    singular = values[0] <= len(x) * torch.finfo(values.dtype).eps * values[-1]
    return -math.inf if singular else float(values.log().sum())


class _Codes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Count for each pair of examples the ReLUs with equal states."""

    def __init__(self, examples: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kernel, self.units = torch.zeros(examples, examples, dtype=torch.float64), 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in RELUS or (func in RELU6 and _starts_at_zero(args)):
            self._add(args[0])
        return func(*args, **(kwargs or {}))

    def _add(self, inputs: Tensor) -> None:
        if inputs.ndim < 2 or len(inputs) != len(self.kernel):
            shape = tuple(inputs.shape)
            raise ValueError(
                f"naswot: expected {len(self.kernel)} examples along the first axis of a ReLU, got {shape}"
            )
        on = (inputs.flatten(1) > 0).float()  # [b, u]
        self.kernel += (on @ on.T + (1 - on) @ (1 - on).T).double().cpu()
        self.units += on.shape[1]


def _starts_at_zero(args: Any) -> bool:
    """Return whether a clamp to an interval is a ReLU6: `hardtanh` has limits, `relu6` has none."""
    return len(args) == 1 or args[1] == 0


def jacov(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return -sum(log(v + k) + 1 / (v + k)), k = 1e-5 (Mellor et al. 2020; Abdelfattah et al. 2021, section 3.1).

    v are the eigenvalues of the correlation matrix of the examples' Jacobians: gradients of summed outputs, [b, u].
    nan if an output does not depend on its example.
    """
    inputs = x.detach().requires_grad_()
    with torch.enable_grad():
        (jacobian,) = torch.autograd.grad(evaluation_copy(net)(inputs.clone()).sum(), inputs)
    rows = jacobian.flatten(1).double()
    rows = rows - rows.mean(1, keepdim=True)
    norms = rows.norm(dim=1, keepdim=True)
    if not bool((norms > 0).all()):
        return float("nan")
    rows = rows / norms
    values = torch.linalg.eigvalsh(rows @ rows.T).clamp(min=0)  # rounding makes zeros negative
    return -float((torch.log(values + SMALL) + 1 / (values + SMALL)).sum())
