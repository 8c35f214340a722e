"""HEBO (Cowen-Rivers et al. 2022), the winner of the NeurIPS 2020 challenge, with its own distributions.

Its package caps numpy below 1.25 and runs with newer releases: `pip install --no-deps HEBO`, then what it imports.
Failed evaluations are left out by the package itself.
"""

import contextlib
import io
import warnings
from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.hidden import parameters
from benchmarks.harness.search import Search
from lamcts import Bool, Choice, Float, Int


def search(search: Search) -> None:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        _go(search)


def _go(search: Search) -> None:
    import torch
    from hebo.design_space.design_space import DesignSpace
    from hebo.optimizers.hebo import HEBO

    torch.manual_seed(search.seed)
    np.random.seed(search.seed)  # noqa: NPY002  pymoo inside draws from the global generator
    members = dict(parameters(search.objective.space))
    space = DesignSpace().parse([distribution(name, member) for name, member in members.items()])
    opt = HEBO(space, scramble_seed=search.seed)
    while search.left:
        table = opt.suggest(n_suggestions=min(search.batch, search.left))
        points = [
            {name: value_of(member, row[name]) for name, member in members.items()} for _, row in table.iterrows()
        ]
        opt.observe(table, np.array(search.evaluate_all(points))[:, None])


def distribution(name: str, member: Any) -> dict[str, Any]:
    """Return what HEBO calls a parameter; options by their numbers."""
    if isinstance(member, Choice):
        last = len(member.options) - 1
        ordered = {"name": name, "type": "int", "lb": 0, "ub": last}
        return ordered if member.ordered else {"name": name, "type": "cat", "categories": list(range(last + 1))}
    if isinstance(member, Bool):
        return {"name": name, "type": "bool"}
    if isinstance(member, Int):
        kind = "pow_int" if member.log else "int"
        return {"name": name, "type": kind, "lb": member.low, "ub": member.high} | ({"base": 10} if member.log else {})
    if isinstance(member, Float):
        kind = "pow" if member.log else "num"
        return {"name": name, "type": kind, "lb": member.low, "ub": member.high} | ({"base": 10} if member.log else {})
    raise ValueError(f"expected Choice, Bool, Int or Float as parameters, got {member!r}")


def value_of(member: Any, given: Any) -> Any:
    """Return our value of what HEBO gives; powers may step over a bound by rounding."""
    if isinstance(member, Choice):
        return member.options[int(given)]
    if isinstance(member, Bool):
        return bool(given)
    return (int if isinstance(member, Int) else float)(np.clip(given, member.low, member.high))
