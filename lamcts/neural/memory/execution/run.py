"""One training step of a model, for measurements, and its state before. Needs torch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from lamcts.neural.trace.module import Loss, arguments, scalar


def reset_gradients(model: nn.Module, added: bool) -> None:
    """Delete the gradients; where those of steps are added up, set them to 0."""
    for one in model.parameters():
        one.grad = torch.zeros_like(one) if added and one.requires_grad else None


def run_step(call: Callable[..., Any], batch: object, loss: Loss | None) -> None:
    """Run a forward and a backward pass of a model, called by `call`; under autocast parameters are cast in it."""
    args, kwargs = arguments(batch)
    torch.clear_autocast_cache()
    scalar(call(*args, **kwargs), loss).backward()  # type: ignore[no-untyped-call]


@contextmanager
def restored(model: nn.Module) -> Iterator[torch.device]:
    """Restore gradients and buffers of a model, and the global generators, at the end; yield the model's device.

    Embeddings with `max_norm` modify their weights in the forward pass, which are restored too.
    """
    device = next((one.device for one in model.parameters()), torch.device("cpu"))
    scaled = [one.weight for one in model.modules() if getattr(one, "max_norm", None) is not None]
    before = [(one, one.detach().clone()) for one in (*model.buffers(), *scaled)]
    gradients = [(one, one.grad) for one in model.parameters()]
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.enable_grad():
            yield device
    finally:
        for one, gradient in gradients:
            one.grad = gradient
        with torch.no_grad():
            for one, value in before:
                one.copy_(value)
