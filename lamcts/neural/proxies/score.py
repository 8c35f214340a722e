"""Score an untrained network by a proxy, by name."""

import copy
import math
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils._python_dispatch import TorchDispatchMode

from lamcts.neural.build.sizes import size_of

SMALL = 1e-5  # added to eigenvalues, as in the code of Mellor et al. 2020
ATEN = torch.ops.aten
RELUS = (ATEN.relu.default, ATEN.relu_.default)
RELU6 = (ATEN.hardtanh.default, ATEN.hardtanh_.default, ATEN.relu6.default, ATEN.relu6_.default)


def evaluation_copy(net: nn.Module, by_batch: bool = True) -> nn.Module:
    """Return a copy in evaluation mode without gradients; no random layer draws."""
    made = copy.deepcopy(net).eval()
    made.zero_grad(set_to_none=True)
    for module in made.modules():
        if by_batch and isinstance(module, _BatchNorm):
            module.train()
    return made


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
        # `hardtanh` has limits, and `relu6` has none
        if func in RELUS or (func in RELU6 and (len(args) == 1 or args[1] == 0)):
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


OF_IMAGES = ("synflow", "jacov")  # they change the input, or differentiate by it


def gradient_norm(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the sum of the gradient norms of all parameter tensors (Abdelfattah et al. 2021, section 3.1)."""
    made = evaluation_copy(net)
    with torch.enable_grad():
        scores = made(x).float().flatten(0, -2)  # [b, k]; of texts, [b t, k]
        functional.cross_entropy(scores, y.flatten()).backward()  # type: ignore[no-untyped-call]
    return float(sum(each.grad.double().norm() for each in made.parameters() if each.grad is not None))


def synflow(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return log(1 + R), R the sum of |w dS/dw| over all parameters w (Tanaka et al. 2020, equation 6).

    S is the summed output for an image of ones, all parameters replaced by absolute values. Batch norms are reset.
    """
    made = evaluation_copy(net, by_batch=False).double()
    for module in made.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()  # mean 0 and variance 1: almost the identity
    with torch.no_grad():
        for each in made.parameters():
            each.abs_()
    with torch.enable_grad():
        made(torch.ones_like(x[:1], dtype=torch.float64)).sum().backward()
    flows = (float((each.grad * each.detach()).sum()) for each in made.parameters() if each.grad is not None)
    return math.log1p(sum(flows))


def parameters(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the number of trained parameters."""
    return float(sum(each.numel() for each in net.parameters() if each.requires_grad))


def flops(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the operations of one example in the forward pass, two a multiply-add."""
    return float(size_of(evaluation_copy(net, by_batch=False), tuple(x.shape[1:]), not x.is_floating_point()).flops)


PROXIES: dict[str, Callable[[nn.Module, Tensor, Tensor], float]] = {
    "parameters": parameters,
    "flops": flops,
    "grad_norm": gradient_norm,
    "synflow": synflow,
    "jacov": jacov,
    "naswot": naswot,
}


def score(net: nn.Module, batch: tuple[Tensor, Tensor], name: str) -> float:
    """Return the score of an untrained network by a zero-cost proxy; higher scores predict higher accuracy.

    Parameters
    ----------
    net : torch.nn.Module
        The network. Its weights, gradients, statistics and mode stay as they are.
    batch : (Tensor, Tensor)
        Examples (b, ...) on the device of the network, and their classes.
    name : {"parameters", "flops", "grad_norm", "synflow", "jacov", "naswot"}
        The proxy.

    Returns
    -------
    float
        The score. `naswot` is -inf if two examples switch all ReLUs alike, or if ReLUs are fewer than examples.

    Raises
    ------
    ValueError
        If the proxy is unknown or does not fit: `naswot` needs ReLUs, `synflow` and `jacov` need images.
    RuntimeError
        If the score is nan or overflows.

    Notes
    -----
    The network is copied for the score. Batch norms use the statistics of the batch, other layers are in evaluation
    mode. No layer draws random numbers, so equal inputs give equal scores. `synflow` has batch norms that are almost
    the identity, and is the logarithm log(1 + R) of the published R. `grad_norm` sums over all parameter tensors.
    `naswot` counts ReLU and ReLU6, as modules or as functions.

    References
    ----------
    Abdelfattah et al. 2021, Zero-cost proxies for lightweight NAS (grad_norm, and synflow for architectures).
    Mellor et al. 2021, Neural architecture search without training (naswot; jacov is of its first version of 2020).
    Tanaka et al. 2020, Pruning neural networks without any data by iteratively conserving synaptic flow (synflow).

    Examples
    --------
    >>> import torch
    >>> from lamcts.neural import nas
    >>> from lamcts.neural.build import build
    >>> from lamcts.neural.proxies import score
    >>> space = nas.Digits4096()
    >>> net = build(space, space.point((3, 0, 0, 3, 0, 3)), channels=1, widths=(8,), cells=1)
    >>> score(net, (torch.zeros(4, 1, 8, 8), torch.tensor([0, 1, 0, 1])), "parameters")
    1970.0
    """
    check_name(name, batch[0].is_floating_point())
    x, y = batch[0].detach().clone(), batch[1]  # a network may change its input in place
    value = PROXIES[name](net, x, y)
    if math.isnan(value) or value == math.inf:
        cure = "check the weights and the batch for nan, and whether the output depends on the input"
        raise RuntimeError(f"{name}: expected a number, got {value}; {cure}")
    return value


def check_name(name: str, of_images: bool = True) -> None:
    """Raise ValueError for an unknown proxy, or one that does not fit to examples of whole numbers."""
    if name not in PROXIES:
        near = get_close_matches(str(name), PROXIES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"proxy: expected one of {', '.join(PROXIES)}, got {name!r}{hint}")
    if name in OF_IMAGES and not of_images:
        raise ValueError(f"{name}: expected examples of floating-point numbers, got whole numbers; take 'grad_norm'")
