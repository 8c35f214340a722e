"""The GRU language model (Cho et al. 2014), a baseline for searched recurrent cells.

Only the cell differs from the language models of `lamcts.neural.build`. Letters: b texts, e the width.
"""

import torch
from torch import Tensor, nn

from lamcts.neural.build.recurrent import LanguageModel
from lamcts.neural.build.weights import initialised


def gru(words: int, *, width: int = 64, dropout: float = 0.2, seed: int = 0) -> LanguageModel:
    """Return a language model, on the CPU: scores [b, t, words] of the word after each of texts [b, t].

    words: of the vocabulary. width: of the state and of the words' embeddings, which the output shares (64).
    dropout: of embeddings and outputs, one draw for all words of a text (0.2). seed: of the first weights (0).
    """
    dropouts = (dropout, 0.0, 0.0, dropout)  # of embeddings and outputs
    return initialised(lambda: LanguageModel(GruCell(width), words, width, dropouts), seed)


def width_of(words: int, parameters: int) -> int:
    """Return the largest width whose model has at most `parameters` parameters."""
    width = 1
    while _parameters(words, width + 1) <= parameters:
        width += 1
    return width


def _parameters(words: int, width: int) -> int:
    return words * width + 6 * width * width + 3 * width  # embeddings; three layers of word and state; their biases


class GateLinear(nn.Linear):
    """A linear layer before a sigmoid or tanh, initialised with gain 1."""

    gain = 1.0  # Glorot and Bengio 2010, of tanh at 0


class GruCell(nn.Module):
    """A gated recurrent unit with the reset gate after the product, as in torch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gates = GateLinear(2 * width, 2 * width)
        self.word = GateLinear(width, width)
        self.state = GateLinear(width, width, bias=False)

    def forward(self, word: Tensor, state: Tensor) -> Tensor:  # [b, e] each -> [b, e]
        seen, kept = self.gates(torch.cat([word, state], 1)).sigmoid().chunk(2, 1)
        candidate = (self.word(word) + seen * self.state(state)).tanh()
        new: Tensor = candidate + kept * (state - candidate)
        return new
