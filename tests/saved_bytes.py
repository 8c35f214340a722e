"""An oracle of traces: what autograd saves in a real training step."""

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from lamcts.neural.trace.module import Loss, arguments, whole_step


def saved_bytes(module: nn.Module, batch: object, *, loss: Loss | None = None) -> int:
    """Run a training step and return the peak of saved bytes, each storage once, without parameters and inputs.

    Parameters, buffers and global generators are restored.
    """
    held = {name: one.detach().clone().requires_grad_(one.requires_grad) for name, one in module.named_parameters()}
    held |= {name: one.clone() for name, one in module.named_buffers()}
    args, kwargs = arguments(batch)
    counter = _SavedBytes([*held.values(), *tree_leaves((args, kwargs))])
    devices = sorted({one.device.index or 0 for one in held.values() if one.device.type == "cuda"})
    hooks = torch.autograd.graph.saved_tensors_hooks(counter.pack, counter.unpack)
    with torch.random.fork_rng(devices), torch.enable_grad(), hooks:
        whole_step(module, held, (args, kwargs), loss, lambda _: None)
    return counter.most


class _SavedBytes:
    """Count the tensors that autograd packs, by storage, until they are unpacked."""

    def __init__(self, outside: list[object]) -> None:
        self.outside = {_key(one) for one in outside if isinstance(one, Tensor)}
        self.packed: dict[int, int] = {}  # pack count by storage
        self.now = self.most = 0

    def pack(self, tensor: Tensor) -> Tensor:
        key = _key(tensor)
        if key not in self.outside:
            self.now += 0 if self.packed.get(key) else tensor.untyped_storage().nbytes()
            self.packed[key] = self.packed.get(key, 0) + 1
            self.most = max(self.most, self.now)
        return tensor

    def unpack(self, tensor: Tensor) -> Tensor:
        key = _key(tensor)
        if key not in self.outside:
            self.packed[key] -= 1
            self.now -= 0 if self.packed[key] else tensor.untyped_storage().nbytes()
        return tensor


def _key(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
