"""One training step of a model, for measurements, and its state before. Needs torch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

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
    """Restore gradients and buffers of a model, and the global generators, at the end; yield the model's device."""
    device = next((one.device for one in model.parameters()), torch.device("cpu"))
    before = {name: one.detach().clone() for name, one in _modified(model)}
    gradients = [(one, one.grad) for one in model.parameters()]
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.enable_grad():
            yield device
    finally:
        for one, gradient in gradients:
            one.grad = gradient
        with torch.no_grad():
            for name, tensor in _modified(model):
                tensor.copy_(before[name])


def _modified(model: nn.Module) -> list[tuple[str, Tensor]]:
    """Return by name what forward passes modify: buffers, and weights of embeddings with `max_norm`."""
    embeddings = [
        (name, one) for name, one in model.named_modules() if isinstance(one, (nn.Embedding, nn.EmbeddingBag))
    ]
    scaled = [(f"{name}.weight", one.weight) for name, one in embeddings if one.max_norm is not None]
    return [*model.named_buffers(), *scaled]
