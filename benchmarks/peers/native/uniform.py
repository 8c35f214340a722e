"""Uniform draws, none of them twice."""

from benchmarks.harness.search import Search
from benchmarks.peers.native.evaluated_codes import EvaluatedCodes


def search(search: Search) -> None:
    codes = EvaluatedCodes(search)
    while search.left and len(z := codes.draw(min(search.batch, search.left))):
        codes.losses(z)
