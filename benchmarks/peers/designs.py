"""Searches that learn nothing: the yardstick for all others."""

from benchmarks.search import Search


def random(search: Search) -> None:
    """Uniform draws."""
    search.first()
    rng = search.rng()
    while search.left:
        search(rng.random(search.dim))


def sobol(search: Search) -> None:
    """The initial design, gone on with to the end."""
    search.many(search.initial(search.budget))
