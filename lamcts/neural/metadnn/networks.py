"""The networks of the meta-DNN. Weights are drawn from a generator that is given: no global one is touched.

Letters: n rows, k features, t layers of an architecture, o outputs.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from lamcts.neural.metadnn.settings import MetaDnn


class Recurrent(nn.Module):
    """An LSTM over the codes of an architecture's layers; its last state goes through one layer (thesis 3.3.2)."""

    def __init__(self, width: int, outputs: int, settings: MetaDnn) -> None:
        super().__init__()
        self.steps = settings.steps
        self.embed = nn.Linear(width // settings.steps, settings.embedding)
        self.lstm = nn.LSTM(settings.embedding, settings.state, batch_first=True)
        self.head = nn.Linear(settings.state, outputs)

    def forward(self, x: Tensor) -> Tensor:  # [n, k] -> [n, o]
        codes = x.reshape(len(x), self.steps, x.shape[1] // self.steps)  # [n, t, k / t]
        _, (last, _) = self.lstm(self.embed(codes))
        out: Tensor = self.head(last[-1])
        return out


def mlp(width: int, outputs: int, settings: MetaDnn) -> nn.Module:
    """Return layers of ReLU units between the features and the outputs."""
    widths, layers = (width, *settings.hidden), list[nn.Module]()
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


def build(settings: MetaDnn, width: int, outputs: int, generator: torch.Generator) -> nn.Module:
    """Return a network on the settings' device, its weights drawn from `generator`, which is the CPU's."""
    make = Recurrent if settings.kind == "recurrent" else mlp
    with torch.device("meta"):  # layers draw their weights from the global generator as soon as they have memory
        net = make(width, outputs, settings)
    net.to_empty(device="cpu")
    with torch.no_grad():
        for weight in net.parameters():
            draw(weight, generator)
    return net.to(settings.device)


def draw(weight: Tensor, generator: torch.Generator) -> None:
    """Draw a matrix uniformly with deviation sqrt(2 / inputs) (He 2015, Delving deep into rectifiers); biases are 0."""
    if weight.ndim < 2:
        weight.zero_()
    else:
        bound = (6 / weight.shape[1]) ** 0.5
        weight.uniform_(-bound, bound, generator=generator)
