"""Networks of one architecture as one module: `torch.func.vmap` over stacked weights."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap


class VmappedNetworks(nn.Module):
    """Map one architecture over stacked weights: examples [b, m, ...] to scores [b, m, k].

    The module starts with copies of the weights. `restore` writes the trained weights back.

    Parameters
    ----------
    nets : sequence of torch.nn.Module
        Networks of one architecture that draw no random numbers.
    """

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        super().__init__()
        self.nets = tuple(nets)  # in a tuple, modules are not registered as submodules
        weights, buffers = stack_module_state(list(nets))
        self.names, self.buffer_names = tuple(weights), tuple(buffers)
        self.weights = nn.ParameterList(weight.detach() for weight in weights.values())
        for number, values in enumerate(buffers.values()):
            self.register_buffer(f"buffer{number}", values)
        # runs the first network's code with all weights
        self.vmapped = vmap(lambda state, x: functional_call(self.nets[0], state, (x,)), in_dims=(0, 1), out_dims=1)

    def __len__(self) -> int:
        return len(self.nets)

    def train(self, mode: bool = True) -> "VmappedNetworks":
        self.nets[0].train(mode)
        super().train(mode)
        return self

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.vmapped(self._state(), x)
        return scores

    @torch.no_grad()
    def restore(self) -> None:
        """Write the weights and running statistics back to the networks."""
        state = self._state()
        for row, net in enumerate(self.nets):
            net.load_state_dict({name: values[row] for name, values in state.items()}, strict=False)

    def _state(self) -> dict[str, Tensor]:
        buffers = (getattr(self, f"buffer{number}") for number in range(len(self.buffer_names)))
        return dict(zip((*self.names, *self.buffer_names), (*self.weights, *buffers), strict=True))
