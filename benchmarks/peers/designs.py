"""A search that learns nothing."""

from benchmarks.harness.search import Search


def sobol(search: Search) -> None:
    """The initial design, gone on with to the end."""
    search.many(search.initial(search.budget))
