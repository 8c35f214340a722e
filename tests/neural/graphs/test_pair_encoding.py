"""Byte-pair encoding against one that counts all pairs after each merge, and the labels of AutoGO."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from lamcts.neural.graphs.computation.encoding import PairEncoding, Token, learn


def slow(sequences: list[str], size: int) -> tuple[list[tuple[Token, Token]], list[list[Token]]]:
    words: list[list[Token]] = [[(one,) for one in sequence] for sequence in sequences]
    known = {token for word in words for token in word}
    merges = []
    while len(known) < size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        known.add(best[0] + best[1])
        words = [merged(word, best) for word in words]
    return merges, words


def merged(word: list[Token], pair: tuple[Token, Token]) -> list[Token]:
    found: list[Token] = []
    while word:
        both = tuple(word[:2]) == pair
        found.append(pair[0] + pair[1] if both else word[0])
        word = word[2 if both else 1 :]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_merges_are_those_of_the_plain_algorithm(seed: int) -> None:
    draw = random.Random(seed)
    sequences = ["".join(draw.choices("abcd", k=draw.randint(1, 30))) for _ in range(draw.randint(1, 8))]
    # Runs of one symbol ("aaa") count overlapping pairs, as the plain algorithm does.
    merges, words = slow(sequences, 20)
    encoding = learn([list(one) for one in sequences], 20)
    assert list(encoding.merges) == merges
    for sequence, word in zip(sequences, words, strict=True):
        assert [tuple(sequence[a:b]) for a, b in encoding.encode(list(sequence))] == word


def test_order_of_the_corpus_has_no_effect() -> None:
    sequences = [list("abcabd"), list("bcbcda"), list("ddabca")]
    assert learn(sequences, 12) == learn(sequences[::-1], 12)


def test_masked_tokens_are_not_formed() -> None:
    encoding = PairEncoding(((("a",), ("b",)), (("a", "b"), ("c",))))
    assert encoding.encode(list("abc")) == [(0, 3)]
    assert encoding.encode(list("abc"), masked={("a", "b", "c")}) == [(0, 2), (2, 3)]
    assert encoding.encode(list("abc"), masked={("a", "b")}) == [(0, 1), (1, 2), (2, 3)]


def test_trees_name_the_inner_runs() -> None:
    encoding = PairEncoding(((("a",), ("b",)), (("a", "b"), ("c",))))
    assert encoding.trees(list("abca")) == [((0, 3), [(0, 2), (0, 3)]), ((3, 4), [])]
