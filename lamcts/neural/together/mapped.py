"""Networks of one architecture as one: `torch.func` with stacked weights. For modules that draw nothing."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap


class Mapped(nn.Module):
    """Many modules of one architecture as one: scores [b, m, k] of examples [b, m, ...].

    It begins with copies of their weights, and `restore` writes them back.
    """

    def __init__(self, nets: Sequence[nn.Module]) -> None:
        super().__init__()
        self.nets = tuple(nets)  # in a tuple, modules are no parts of this one
        weights, buffers = stack_module_state(list(nets))
        self.names, self.buffer_names = tuple(weights), tuple(buffers)
        self.weights = nn.ParameterList(weight.detach() for weight in weights.values())
        for number, values in enumerate(buffers.values()):
            self.register_buffer(f"buffer{number}", values)
        # the first network's code runs with the weights of all
        self.mapped = vmap(lambda state, x: functional_call(self.nets[0], state, (x,)), in_dims=(0, 1), out_dims=1)

    def __len__(self) -> int:
        return len(self.nets)

    def train(self, mode: bool = True) -> "Mapped":
        self.nets[0].train(mode)
        super().train(mode)
        return self

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.mapped(self._state(), x)
        return scores

    @torch.no_grad()
    def restore(self) -> None:
        """Write weights and statistics back into the networks."""
        state = self._state()
        for row, net in enumerate(self.nets):
            net.load_state_dict({name: values[row] for name, values in state.items()}, strict=False)

    def _state(self) -> dict[str, Tensor]:
        buffers = (getattr(self, f"buffer{number}") for number in range(len(self.buffer_names)))
        return dict(zip((*self.names, *self.buffer_names), (*self.weights, *buffers), strict=True))
