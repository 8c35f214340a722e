"""Nevergrad's optimisers by name, one evaluation at a time.

They start at x0 where the objective has one, else where they please (the centre of the cube), and plan for the budget.
"""

import numpy as np

from benchmarks.harness.search import Search


def search(search: Search, name: str) -> None:
    import nevergrad as ng

    search.first()
    array = ng.p.Array(init=np.full(search.dim, 0.5) if search.x0 is None else search.x0)
    array.set_bounds(0, 1)
    array.random_state = np.random.RandomState(search.seed)
    method = ng.optimizers.registry[name](array, budget=search.left, num_workers=1)
    if search.x0 is not None:
        method.tell(array.spawn_child(new_value=search.x0), search.values[0])
    while search.left:
        candidate = method.ask()
        method.tell(candidate, search(candidate.value))
