"""Language models with the recurrent cell of ENAS (Pham et al. 2018, section 2.1).

Each node mixes its input with an activation by a gate: h_i = c a(W h_j) + (1 - c) h_j, c = sigmoid(V h_j). Node 0 reads
the word and the last state. Letters: b texts of t words, e the width, k words of the vocabulary.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from lamcts.neural.build.noise import Dropout
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.enas import EnasCell

PLACES = ("embeddings", "inputs", "states", "outputs")  # of dropout
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "identity": lambda x: x,
    "sigmoid": torch.sigmoid,
}


def recurrent(
    space: EnasCell,
    point: Point,
    channels: int,
    classes: int,
    *,
    width: int = 200,
    dropout: float | Sequence[float] = 0.2,
) -> nn.Module:
    """Return the language model of a cell: `classes` is the vocabulary size; `channels` has no effect."""
    rates = (dropout, 0.0, 0.0, dropout) if isinstance(dropout, (int, float)) else tuple(dropout)
    if len(rates) != len(PLACES):
        raise ValueError(f"dropout: expected one rate, or four of {', '.join(PLACES)}, got {dropout!r}")
    inputs = [0, *(point[f"node{i}_input"] for i in range(1, space.nodes))]
    names = [point[f"node{i}_activation"] for i in range(space.nodes)]
    return LanguageModel(RecurrentCell(inputs, names, width), classes, width, rates)


class Gentle(nn.Linear):
    """A linear layer with small initial weights, so that states do not grow over nodes and words."""

    gain = 0.67  # as recurrent cells of DARTS: uniform to 0.04 at 850 units


class LanguageModel(nn.Module):
    """Scores [b, t, k] of the next word in texts [b, t], from a zero state."""

    def __init__(self, cell: nn.Module, words: int, width: int, rates: Sequence[float]) -> None:
        super().__init__()
        weight = torch.empty(words, width)  # given, so that torch draws nothing
        self.embedding, self.cell = nn.Embedding(words, width, _weight=weight), cell
        self.before, self.inputs, self.hidden, self.after = (Dropout(rate, shared=1) for rate in rates)

    def forward(self, words: Tensor) -> Tensor:
        x = self.inputs(self.before(self.embedding(words)))  # [b, t, e]
        state, states = x.new_zeros(len(x), x.shape[2]), list[Tensor]()
        kept = () if self.hidden.quiet else (self.hidden.kept(tuple(state.shape), state),)
        for word in x.unbind(1):
            state = self.cell(word, state, *kept)
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

    def forward(self, word: Tensor, state: Tensor, kept: Tensor | None = None) -> Tensor:  # [b, e] each -> [b, e]
        """Return the next state; `kept` are factors of the states that layers read."""
        values = [self._node(0, self.first(torch.cat([word, _dropped(state, kept)], 1)), state)]
        for i, layer in enumerate(self.nodes, start=1):
            before = values[self.inputs[i]]
            values.append(self._node(i, layer(_dropped(before, kept)), before))
        return torch.stack([values[i] for i in self.loose]).mean(0)

    def _node(self, i: int, both: Tensor, before: Tensor) -> Tensor:
        gate, value = both.chunk(2, 1)
        return before + gate.sigmoid() * (ACTIVATIONS[self.activations[i]](value) - before)


def _dropped(x: Tensor, kept: Tensor | None) -> Tensor:
    return x if kept is None else x * kept
