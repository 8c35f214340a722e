"""Byte-pair encoding of sequences of symbols (Gage 1994; Sennrich et al. 2016; AutoGO 3.1).

The most frequent pair of neighbours becomes one symbol, again and again. Ties go to the pair that is first in the
order of its symbols, so that equal corpora give equal vocabularies.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

Token = tuple[str, ...]  # the labels that one symbol stands for
Pair = tuple[Token, Token]
LEAST = 2  # occurrences of a pair that is merged


@dataclass(frozen=True)
class PairEncoding:
    """The merges of a byte-pair encoding, in the order in which they were learnt."""

    merges: tuple[Pair, ...]

    @cached_property
    def ranks(self) -> dict[Pair, int]:
        """Place of each merge in the order."""
        return {pair: rank for rank, pair in enumerate(self.merges)}

    @cached_property
    def tokens(self) -> list[Token]:
        """Tokens of two labels or more."""
        return [left + right for left, right in self.merges]

    def encode(self, sequence: Sequence[str], masked: Collection[Token] = ()) -> list[tuple[int, int]]:
        """Return the runs of labels that are one token, as (first, after the last), in order."""
        return [run for run, _ in self.trees(sequence, masked)]

    def trees(
        self, sequence: Sequence[str], masked: Collection[Token] = ()
    ) -> list[tuple[tuple[int, int], list[tuple[int, int]]]]:
        """Return each run of `encode` with all runs of two labels or more that it was merged from, itself included."""
        runs: list[_Run] = [((i, i + 1), (one,), []) for i, one in enumerate(sequence)]
        while (
            best := min((self._rank(runs, i, masked) for i in range(len(runs) - 1)), default=len(self.merges))
        ) < len(self.merges):
            runs = _merged(runs, self.merges[best])
        return [(run, inner) for run, _, inner in runs]

    def _rank(self, runs: list["_Run"], i: int, masked: Collection[Token]) -> int:
        pair = (runs[i][1], runs[i + 1][1])
        rank = self.ranks.get(pair, len(self.merges))
        return len(self.merges) if rank < len(self.merges) and pair[0] + pair[1] in masked else rank


_Run = tuple[tuple[int, int], Token, list[tuple[int, int]]]


def _merged(runs: list[_Run], pair: Pair) -> list[_Run]:
    """Return the runs with each occurrence of a pair merged, from the left."""
    found: list[_Run] = []
    i = 0
    while i < len(runs):
        if i + 1 < len(runs) and (runs[i][1], runs[i + 1][1]) == pair:
            (one, left, inner), (two, right, others) = runs[i], runs[i + 1]
            whole = (one[0], two[1])
            found.append((whole, left + right, [*inner, *others, whole]))
            i += 2
        else:
            found.append(runs[i])
            i += 1
    return found


def learn(sequences: Iterable[Sequence[str]], size: int) -> PairEncoding:
    """Return the encoding whose vocabulary has `size` tokens, or fewer where no pair occurs twice."""
    corpus = _Corpus(sequences)
    merges: list[Pair] = []
    while len(corpus.tokens) < size and (best := corpus.most_frequent()) is not None:
        left, right = best
        merges.append((corpus.tokens[left], corpus.tokens[right]))
        corpus.merge(best)
    return PairEncoding(tuple(merges))


class _Corpus:
    """Words as lists of numbers of tokens, with the count of each pair of neighbours and the words that hold it."""

    def __init__(self, sequences: Iterable[Sequence[str]]) -> None:
        counted = Counter(tuple(sequence) for sequence in sequences)
        self.tokens: list[Token] = [(one,) for one in sorted({one for word in counted for one in word})]
        self.numbers = {token: number for number, token in enumerate(self.tokens)}
        self.words = [[self.numbers[one,] for one in word] for word in counted]
        self.weights = list(counted.values())
        self.counts: Counter[tuple[int, int]] = Counter()
        self.places: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for i, word in enumerate(self.words):
            for pair in pairwise(word):
                self.counts[pair] += self.weights[i]
                self.places[pair].add(i)
        self.heap: list[tuple[int, Pair, tuple[int, int]]] = []
        for pair in self.counts:
            self.push(pair)

    def push(self, pair: tuple[int, int]) -> None:
        """Put a pair with its present count into the heap; older entries of the pair are void."""
        named = (self.tokens[pair[0]], self.tokens[pair[1]])
        heapq.heappush(self.heap, (-self.counts[pair], named, pair))

    def most_frequent(self) -> tuple[int, int] | None:
        """Return the pair that occurs most often, at least twice, or None."""
        while self.heap:
            count, _, pair = heapq.heappop(self.heap)
            if -count == self.counts[pair] and -count >= LEAST:
                return pair
        return None

    def merge(self, pair: tuple[int, int]) -> None:
        """Make a pair one token in all words."""
        token = self.tokens[pair[0]] + self.tokens[pair[1]]
        if token not in self.numbers:  # two ways of merging may give one token
            self.numbers[token] = len(self.tokens)
            self.tokens.append(token)
        changed: set[tuple[int, int]] = set()
        for i in self.places.pop(pair):
            changed |= self.merge_word(i, pair, self.numbers[token])
        self.counts.pop(pair, None)
        for one in sorted(changed - {pair}):
            if self.counts[one] > 0:
                self.push(one)

    def merge_word(self, i: int, pair: tuple[int, int], number: int) -> set[tuple[int, int]]:
        """Make a pair one token in one word, and return the pairs whose counts changed."""
        word, weight = self.words[i], self.weights[i]
        starts = _occurrences(word, pair)
        new, touched_before, touched_after = [], set[int](), set[int]()
        done = 0
        for start in starts:
            new += word[done:start]
            touched_before |= {start - 1, start, start + 1}
            touched_after |= {len(new) - 1, len(new)}
            new.append(number)
            done = start + 2
        new += word[done:]
        lost = [(word[at], word[at + 1]) for at in touched_before if 0 <= at < len(word) - 1]
        won = [(new[at], new[at + 1]) for at in touched_after if 0 <= at < len(new) - 1]
        for one in lost:
            self.counts[one] -= weight
        for one in won:
            self.counts[one] += weight
            self.places[one].add(i)
        self.words[i] = new
        return {*lost, *won}


def _occurrences(word: list[int], pair: tuple[int, int]) -> list[int]:
    """Return where a pair begins in a word, from the left, without overlaps."""
    found: list[int] = []
    for at, both in enumerate(pairwise(word)):
        if both == pair and (not found or at > found[-1] + 1):
            found.append(at)
    return found
