"""Uniform draws."""

from benchmarks.harness.measured import MeasuredSearch


def search(search: MeasuredSearch) -> None:
    rng, space = search.rng(), search.objective.space
    search.outcomes([space.decode(x) for x in space.sample(search.left, rng)])
