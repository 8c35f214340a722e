"""A language model with a gated recurrent unit (Cho et al. 2014), made by hand: what a found cell is held against.

All around the cell is as it is around the cells of `lamcts.neural.build`. Letters: b texts, e the width.
"""

import torch
from torch import Tensor, nn

from lamcts.neural.build.recurrent import LanguageModel
from lamcts.neural.build.weights import initialise


def gru(words: int, *, width: int = 64, dropout: float = 0.2, seed: int = 0) -> LanguageModel:
    """Return a language model, on the CPU: scores [b, t, words] of the word after each of texts [b, t].

    words: of the vocabulary. width: of the state and of the words' embeddings, which the output shares (64).
    dropout: of embeddings and outputs, one draw for all words of a text (0.2). seed: of the first weights (0).
    """
    with torch.device("meta"):
        net = LanguageModel(GruCell(width), words, width, dropout)
    net.to_empty(device="cpu")
    initialise(net, seed)
    return net


def width_of(words: int, parameters: int) -> int:
    """Return the width whose model has as many parameters as can be, but no more than are given."""
    width = 1
    while _parameters(words, width + 1) <= parameters:
        width += 1
    return width


def _parameters(words: int, width: int) -> int:
    return words * width + 6 * width * width + 3 * width  # embeddings; three layers of word and state; their biases


class Plain(nn.Linear):
    """A layer before sigmoids and tangents, whose first weights keep what comes in as large as it is."""

    gain = 1.0  # Glorot and Bengio 2010, of tanh at 0


class GruCell(nn.Module):
    """The new state is a mean of the last one and of a candidate, which sees as much of the last one as a gate lets."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gates = Plain(2 * width, 2 * width)
        self.word = Plain(width, width)
        self.state = Plain(width, width, bias=False)

    def forward(self, word: Tensor, state: Tensor) -> Tensor:  # [b, e] each -> [b, e]
        seen, kept = self.gates(torch.cat([word, state], 1)).sigmoid().chunk(2, 1)
        candidate = (self.word(word) + seen * self.state(state)).tanh()
        new: Tensor = candidate + kept * (state - candidate)
        return new
