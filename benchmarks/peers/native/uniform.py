"""Uniform draws, none of them twice."""

from benchmarks.harness.search import Search
from benchmarks.peers.native.ground import Ground


def search(search: Search) -> None:
    ground = Ground(search)
    while search.left and len(z := ground.draw(min(search.batch, search.left))):
        ground.losses(z)
