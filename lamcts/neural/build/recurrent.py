"""Language models with the recurrent cell of ENAS (Pham et al. 2018, section 2.1).

Each node mixes its input with an activation by a gate: h_i = c a(W h_j) + (1 - c) h_j, c = sigmoid(V h_j). Node 0 reads
the word and the last state. Letters: b texts of t words, e the width, k words of the vocabulary.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from lamcts.nas.base import Point
from lamcts.nas.enas import EnasCell
from lamcts.neural.build.noise import Dropout

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "identity": lambda x: x,
    "sigmoid": torch.sigmoid,
}


def recurrent(
    space: EnasCell, point: Point, channels: int, classes: int, *, width: int = 200, dropout: float = 0.2
) -> nn.Module:
    """Return the language model of a cell: `classes` is the vocabulary size; `channels` has no effect.

    Parameters
    ----------
    space, point
        The architecture.
    channels, classes : int
        Unused, and the vocabulary size.
    width : int, default 200
        Size of the state and of the word embeddings, which the output layer shares; as in the paper's search.
    dropout : float, default 0.2
        Dropout of embeddings and outputs, one draw for all words of a text. Untuned; the paper has one by layer.
    """
    inputs = [0, *(point[f"node{i}_input"] for i in range(1, space.nodes))]
    names = [point[f"node{i}_activation"] for i in range(space.nodes)]
    return LanguageModel(RecurrentCell(inputs, names, width), classes, width, dropout)


class Gentle(nn.Linear):
    """A linear layer with small initial weights, so that states do not grow over nodes and words."""

    gain = 0.67  # as recurrent cells of DARTS: uniform to 0.04 at 850 units


class LanguageModel(nn.Module):
    """Scores [b, t, k] of the next word in texts [b, t], from a zero state."""

    def __init__(self, cell: nn.Module, words: int, width: int, dropout: float) -> None:
        super().__init__()
        weight = torch.empty(words, width)  # given, so that torch draws nothing
        self.embedding, self.cell = nn.Embedding(words, width, _weight=weight), cell
        self.before, self.after = Dropout(dropout, shared=1), Dropout(dropout, shared=1)

    def forward(self, words: Tensor) -> Tensor:
        x = self.before(self.embedding(words))  # [b, t, e]
        state, states = x.new_zeros(len(x), x.shape[2]), list[Tensor]()
        for word in x.unbind(1):
            state = self.cell(word, state)
            states.append(state)
        return nn.functional.linear(self.after(torch.stack(states, 1)), self.embedding.weight)


class RecurrentCell(nn.Module):
    """A tree of nodes; its output is the mean of the nodes that no other uses."""

    def __init__(self, inputs: list[int], activations: list[str], width: int) -> None:
        super().__init__()
        self.inputs, self.activations = inputs, activations
        self.loose = [i for i in range(len(inputs)) if i not in inputs[1:]]
        self.first = Gentle(2 * width, 2 * width, bias=False)
        self.nodes = nn.ModuleList(Gentle(width, 2 * width, bias=False) for _ in inputs[1:])

    def forward(self, word: Tensor, state: Tensor) -> Tensor:  # [b, e] each -> [b, e]
        values = [self._node(0, self.first(torch.cat([word, state], 1)), state)]
        for i, layer in enumerate(self.nodes, start=1):
            before = values[self.inputs[i]]
            values.append(self._node(i, layer(before), before))
        return torch.stack([values[i] for i in self.loose]).mean(0)

    def _node(self, i: int, both: Tensor, before: Tensor) -> Tensor:
        gate, value = both.chunk(2, 1)
        return before + gate.sigmoid() * (ACTIVATIONS[self.activations[i]](value) - before)
