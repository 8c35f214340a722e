"""Texts as rows of tokens with their next tokens, for language models."""

import gzip
from pathlib import Path

import numpy as np

from lamcts.neural.train.data import Array, Data, Part, part_of

# Training file, test file (None: the end of the same file), and token.
TEXTS: dict[str, tuple[str, str | None, str]] = {
    "wikitext2": ("wikitext2_valid.txt.gz", "wikitext2_test.txt.gz", "word"),
    "tinyshakespeare": ("tinyshakespeare.txt.gz", None, "character"),
}
LENGTH = 35  # tokens a row: ENAS, after Zaremba 2014
LEARNT = 0.9  # training share of the tokens of the first file; validation has the rest
END, UNKNOWN = "<eos>", "<unk>"  # end of a line; a word that the training part lacks


def text(name: str, file: Path, length: int = LENGTH) -> Data:
    """Return a text of `TEXTS` in rows of `length` tokens; the second file is in the same folder.

    WikiText-2's training file has ten megabytes; here its validation file is for training, and its test file for test.
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
    """Return rows [n, length] of tokens, and the next token of each; drop the remainder."""
    n = (len(numbers) - 1) // length
    whole: Array = np.array(numbers[: n * length + 1], np.int64)
    return part_of(whole[:-1].reshape(n, length), whole[1:].reshape(n, length), slice(None))
