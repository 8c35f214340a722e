"""Texts as rows of tokens, each with the token that follows: what a language model learns from."""

import gzip
from pathlib import Path

import numpy as np

from lamcts.neural.train.data import Array, Data, Part, part_of

# The file to learn from, the one to be judged by (None: the end of the same), and what a token is.
TEXTS: dict[str, tuple[str, str | None, str]] = {
    "wikitext2": ("wikitext2_valid.txt.gz", "wikitext2_test.txt.gz", "word"),
    "tinyshakespeare": ("tinyshakespeare.txt.gz", None, "character"),
}
LENGTH = 35  # tokens of a row: ENAS, and what trains on these texts since Zaremba 2014
LEARNT = 0.9  # of the tokens of the first file, those learnt from; validation has the next
END, UNKNOWN = "<eos>", "<unk>"  # of a line, and in place of a word that the part learnt from has not


def text(name: str, file: Path, length: int = LENGTH) -> Data:
    """Return a text of `TEXTS`, whose second file lies beside the first, in rows of `length` tokens.

    WikiText-2's own training text is ten megabytes: here its validation file is learnt from, and its test file judges.
    """
    _, beside, kind = TEXTS[name]
    tokens = _tokens(file, kind)
    end = int(LEARNT * len(tokens))
    if beside is None:
        middle = (end + len(tokens)) // 2
        learnt, chosen, judged = tokens[:end], tokens[end:middle], tokens[middle:]
    else:
        learnt, chosen, judged = tokens[:end], tokens[end:], _tokens(file.with_name(beside), kind)
    words = {word: number for number, word in enumerate(sorted({*learnt, UNKNOWN}))}
    numbered = ([words.get(word, words[UNKNOWN]) for word in part] for part in (learnt, chosen, judged))
    train, valid, test = (_rows(numbers, length) for numbers in numbered)
    return Data(name, train, valid, test, len(words))


def _tokens(file: Path, kind: str) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        lines = opened.read()
    if kind == "character":
        return list(lines)
    return [word for line in lines.splitlines() for word in (*line.split(), END)]


def _rows(numbers: list[int], length: int) -> Part:
    """Return rows [n, length] of tokens, and of each token the next; what is left at the end is left out."""
    n = (len(numbers) - 1) // length
    whole: Array = np.array(numbers[: n * length + 1], np.int64)
    return part_of(whole[:-1].reshape(n, length), whole[1:].reshape(n, length), slice(None))
